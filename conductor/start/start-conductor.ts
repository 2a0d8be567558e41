import { readdir } from 'node:fs/promises';
import { pruneFailedAllocations } from '#conductor/allocations/work-store.ts';
import { authWarnings } from '#conductor/auth/auth-settings.ts';
import { startDhcpServer } from '#conductor/boot/dhcp/dhcp-server.ts';
import { listKnownMachines } from '#conductor/boot/dhcp/dnsmasq-config.ts';
import { ramdiskWarning } from '#conductor/boot/ramdisk-files.ts';
import { endLeftSessions } from '#conductor/flows/background/end-left-sessions.ts';
import { createPowerRounds } from '#conductor/flows/background/sync-power.ts';
import { createHardwareWatch } from '#conductor/flows/background/watch-hardware.ts';
import { removeLeftImages } from '#conductor/flows/driver-steps/fetch-firmware-image.ts';
import type { Scheduler } from '#conductor/flows/engine/scheduler.ts';
import { pruneFlows } from '#conductor/flows/log/flow-store.ts';
import { lookAtSwitchPorts, repairSwitchPorts } from '#conductor/flows/network/look-at-switch-ports.ts';
import { forgetDiscovered } from '#conductor/flows/request/remove-node.ts';
import { notifyRunners } from '#conductor/flows/site-actions/action-store.ts';
import { exportTraces } from '#conductor/flows/watch/export-traces.ts';
import { createApp, createBootApp } from '#conductor/http/app.ts';
import { listen, openTlsFiles } from '#conductor/http/listen.ts';
import { reportHandshakes } from '#conductor/http/machines/report-handshakes.ts';
import {
  connectionLimits,
  descriptorWarning,
  readDescriptorLimit,
  shareConnections,
} from '#conductor/http/routing/share-connections.ts';
import { watchCertificate } from '#conductor/http/watch-certificate.ts';
import { watchPeerCertificates } from '#conductor/http/watch-peer-certificates.ts';
import { openApiCaller } from '#conductor/kernel/caller.ts';
import { createDeathWatch } from '#conductor/kernel/conductors/find-dead.ts';
import { systemAuthorities, throwUnreadable } from '#conductor/kernel/files.ts';
import { collectProcessMetrics } from '#conductor/kernel/metrics/metrics.ts';
import { type PeriodicTask, startPeriodicTasks } from '#conductor/kernel/wake-loop.ts';
import { noteBootEvent } from '#conductor/nodes/boot/boot-event-store.ts';
import { listPortAddresses } from '#conductor/nodes/ports/port-store.ts';
import { readVendorCas } from '#conductor/nodes/tpm/read-vendor-cas.ts';
import { pruneActions } from '#conductor/sites/actions/action-runner.ts';
import { readConfig } from '#conductor/start/config.ts';
import {
  type ConductorConfig,
  type ConductorContext,
  type OpenContextOptions,
  openContext,
} from '#conductor/start/open-context.ts';
import { sealStoredOnce } from '#conductor/start/seal-stored.ts';
import { pruneDeliveries } from '#conductor/webhooks/claim-deliveries.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { createLog, type Log } from '#shared/log.ts';

const pruneIntervalMs = 10 * 60_000;

/**
 * A conductor that serves and works until it is disposed of: nodes are left where the log says they are, others take the
 * work at once, and requests are answered for `shutdownDelayMs` more.
 */
export interface Conductor extends AsyncDisposable {
  /** Where its API listens. */
  readonly url: string;
  readonly context: ConductorContext;
  /** Resolves when another process has taken its name, because this one seemed dead: it must end. */
  readonly superseded: Promise<AppError>;
}

/**
 * Starts all of a conductor: database, background tasks, listeners.
 * @throws AppError naming what can't be opened; what was opened before is closed.
 */
export async function startConductor(config: ConductorConfig, options: OpenContextOptions): Promise<Conductor> {
  const { log } = options;
  // a system without authorities of its own may have none there
  if (config.caDirectory !== systemAuthorities) {
    await readdir(config.caDirectory).catch(throwUnreadable('BATON_CA_DIR', config.caDirectory));
  }
  if (config.tpmCaDirectory !== undefined) {
    const authorities = await readVendorCas(config.tpmCaDirectory);
    if (typeof authorities === 'string') throw new AppError('invalid_argument', authorities);
  }
  await using opening = new AsyncDisposableStack();
  const opened = await openContext(config, options);
  opening.defer(() => opened.close());
  const { context, scheduler } = opened;
  const descriptors = await readDescriptorLimit();
  const warnings = [
    ...authWarnings(config),
    await ramdiskWarning(config.ramdiskDirectory),
    descriptorWarning(descriptors),
  ];
  for (const warning of warnings) if (warning !== undefined) log.warn(warning);
  const tls = config.tls && (await openTlsFiles(config.tls, { log }));
  opening.defer(() => tls?.close());
  const certificate = tls && watchCertificate(tls, context);
  opening.defer(() => certificate?.close());
  const peerCertificates = watchPeerCertificates(context);
  opening.defer(() => peerCertificates.close());
  const dhcp =
    config.dhcp &&
    (await startDhcpServer(config.dhcp, {
      ...context,
      onSighting: ({ mac, event }) => noteBootEvent(context, { mac }, event),
    }));
  opening.defer(() => dhcp?.close());
  const { host, port, boot } = config;
  const { stopping } = context;
  const servers: { close(): Promise<void> }[] = [];
  opening.defer(async () => {
    await Promise.all(servers.map((each) => each.close()));
  });
  const connections = shareConnections(connectionLimits(descriptors), context);
  const server = await listen(createApp({ ...context, dhcp, connections, certificate, peerCertificates }).fetch, {
    host,
    port,
    connections,
    stopping,
    tls,
    onBrokenHandshake: reportHandshakes(context),
    setting: 'BATON_PORT',
  });
  servers.push(server);
  if (boot.port !== undefined) {
    const bootApp = createBootApp(context);
    const answer: Parameters<typeof listen>[0] = (request, bindings) => bootApp.fetch(request, bindings);
    servers.push(await listen(answer, { host, port: boot.port, connections, stopping, setting: 'BATON_BOOT_PORT' }));
  }
  log.info({ url: server.url, publicUrl: config.publicUrl, conductor: config.conductorName }, 'conductor is up');
  collectProcessMetrics(context.metrics);
  const background = startPeriodicTasks(periodicTasks(context, scheduler), context);
  opening.defer(async () => {
    opened.beginStop();
    // others take the work at once; requests are answered until those who send them have heard that we are not ready
    const delay = context.clock.sleep(config.shutdownDelayMs);
    await Promise.all([background.stop(), scheduler.stop()]);
    await delay;
  });
  const closing = opening.move();
  return {
    url: server.url,
    context,
    superseded: context.conductors.superseded,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const traceMs = 5000;
const deathWatchMs = 500;
const sessionsMs = 10_000;

/** Takes over from the dead at once: their work is gone on with by the first that gets it. */
function takeOverFromDead(context: ConductorContext, scheduler: Scheduler): () => Promise<void> {
  const { config, conductors, db } = context;
  const findDead = createDeathWatch(context);
  return async () => {
    const dead = await findDead();
    if (dead.length === 0) return;
    await conductors.live();
    for (const nodeUuid of dead.flatMap(({ nodes }) => nodes)) scheduler.passOn(nodeUuid);
    await notifyRunners(db);
    // 0: never
    if (config.takeoverIntervalMs > 0) await context.allocator.takeOver();
  };
}

function periodicTasks(context: ConductorContext, scheduler: Scheduler): PeriodicTask[] {
  const { config } = context;
  const { traces } = config;
  const power = createPowerRounds(context);
  return [
    ...(context.database.exclusive
      ? []
      : [{ name: 'look for dead conductors', periodMs: deathWatchMs, run: takeOverFromDead(context, scheduler) }]),
    { name: 'reconcile', periodMs: config.reconcileIntervalMs, run: () => scheduler.reconcile() },
    { name: 'allocations', periodMs: config.reconcileIntervalMs, run: () => context.allocator.lookAfter() },
    // 0: never
    ...(config.takeoverIntervalMs > 0
      ? [{ name: 'take over', periodMs: config.takeoverIntervalMs, run: () => context.allocator.takeOver() }]
      : []),
    { name: 'end sessions left at BMCs', periodMs: sessionsMs, run: (signal) => endLeftSessions(context, signal) },
    { name: 'seal stored secrets', periodMs: pruneIntervalMs, run: sealStoredOnce(context) },
    { name: 'prune allocations', periodMs: pruneIntervalMs, run: () => pruneFailedAllocations(context) },
    { name: 'prune flows', periodMs: pruneIntervalMs, run: () => pruneFlows(context) },
    { name: 'forget discovered machines', periodMs: pruneIntervalMs, run: () => forgetDiscovered(context) },
    { name: 'prune site actions', periodMs: pruneIntervalMs, run: () => pruneActions(context) },
    { name: 'prune webhook deliveries', periodMs: pruneIntervalMs, run: () => pruneDeliveries(context) },
    {
      name: 'remove left firmware images',
      periodMs: pruneIntervalMs,
      run: () => removeLeftImages(context.clock.now()),
    },
    {
      name: 'look at switch ports',
      periodMs: config.switchLookIntervalMs,
      run: (signal) =>
        lookAtSwitchPorts(context, signal, (node, isMeant) =>
          repairSwitchPorts(context, node, { ...openApiCaller, via: 'repair (networks file)' }, isMeant),
        ),
    },
    ...(config.dhcp?.knownRanges.length ? [listKnownMachines(config.dhcp, () => listPortAddresses(context.db))] : []),
    ...(config.hardwareIntervalMs > 0
      ? [{ name: 'watch hardware', periodMs: config.hardwareIntervalMs, run: createHardwareWatch(context) }]
      : []),
    ...(traces
      ? [
          {
            name: 'send traces',
            periodMs: traceMs,
            run: (signal: AbortSignal) => exportTraces(context, traces, signal),
          },
        ]
      : []),
    {
      name: 'sync power states',
      periodMs: config.powerSyncIntervalMs,
      run: power.answering,
    },
    {
      name: 'sync power states of silent BMCs',
      periodMs: config.powerSyncIntervalMs,
      run: power.silent,
    },
  ];
}

/** The conductor's process: it serves until a signal, or until another process has taken its name. */
export async function runConductor(
  environment: Readonly<Record<string, string | undefined>>,
  optionsFor: (log: Log) => Omit<OpenContextOptions, 'log'> = () => ({}),
): Promise<void> {
  try {
    const config = readConfig(environment);
    // one that comes while it starts is heeded when it has: the database's server must not be left behind
    const signalled = stopSignal();
    const log = createLog({ component: 'conductor', level: config.logLevel });
    await using conductor = await startConductor(config, { log, ...optionsFor(log) });
    const reason = await Promise.race([signalled, conductor.superseded]);
    const { shutdownDelayMs: delayMs } = config;
    log.info({ reason, delayMs }, 'conductor is stopping: nodes are left where the log says they are');
    if (reason instanceof Error) throw reason;
  } catch (error) {
    createLog({ component: 'conductor' }).fatal({ err: error }, 'conductor ended');
    process.stderr.write(`baton conductor: ${errorChain(error)}\n`);
    // what did not get as far as being closed must not keep the process
    process.exit(1);
  }
}

function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    // Ctrl-C comes twice, from the terminal and from npm; the second must not end it before its database has ended
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve(signal));
  });
}
