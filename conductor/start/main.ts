import { pruneFailedAllocations } from '#conductor/allocations/work-store.ts';
import { authWarnings } from '#conductor/auth/auth-warnings.ts';
import { ramdiskWarning } from '#conductor/boot/ramdisk-files.ts';
import { pruneFlows } from '#conductor/flows/prune-flows.ts';
import { syncPower } from '#conductor/flows/sync-power.ts';
import { createApp, createBootApp } from '#conductor/http/app.ts';
import { listen } from '#conductor/http/listen.ts';
import { openTlsFiles } from '#conductor/http/tls-files.ts';
import { collectProcessMetrics } from '#conductor/kernel/metrics/metrics.ts';
import { type PeriodicTask, startPeriodicTasks } from '#conductor/kernel/periodic.ts';
import { pruneActions } from '#conductor/sites/actions/prune-actions.ts';
import { type ConductorConfig, readConfig } from '#conductor/start/config.ts';
import { type OpenedContext, openContext } from '#conductor/start/open-context.ts';
import { sealStoredSecrets } from '#conductor/start/seal-stored.ts';
import { pruneDeliveries } from '#conductor/webhooks/claim-deliveries.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { createLog, type Log } from '#shared/log.ts';

const pruneIntervalMs = 10 * 60_000;

/** The conductor's process: configuration → context → listener and background tasks, until a signal. */
async function main(): Promise<void> {
  const config = readConfig(process.env);
  // one that comes while it starts is heeded when it has: the database's server must not be left behind
  const signalled = stopSignal();
  const log = createLog({ component: 'conductor', level: config.logLevel });
  const opened = await openContext(config, { log, checkpoint: crashAtCheckpoint(config, log) });
  try {
    await sealStoredSecrets(opened.context);
    await serve(config, { log, signalled }, opened);
  } finally {
    await opened.close();
  }
}

async function serve(
  config: ConductorConfig,
  { log, signalled }: { readonly log: Log; readonly signalled: Promise<NodeJS.Signals> },
  { context, scheduler, beginStop }: OpenedContext,
): Promise<void> {
  const warnings = [...authWarnings(config), await ramdiskWarning(config.ramdiskDirectory)];
  for (const warning of warnings) if (warning !== undefined) log.warn(warning);
  const tls = config.tls && (await openTlsFiles(config.tls, { log }));
  const { host, port, boot } = config;
  const { stopping } = context;
  const server = await listen(createApp(context).fetch, { host, port, stopping, tls });
  const bootApp = createBootApp(context);
  const bootServer =
    boot.port === undefined
      ? undefined
      : await listen((request, bindings) => bootApp.fetch(request, bindings), { host, port: boot.port, stopping });
  log.info({ url: server.url, publicUrl: config.publicUrl, conductor: config.conductorName }, 'conductor is up');
  const tasks: PeriodicTask[] = [
    { name: 'reconcile', periodMs: config.reconcileIntervalMs, run: () => scheduler.reconcile() },
    { name: 'allocations', periodMs: config.reconcileIntervalMs, run: () => context.allocator.lookAfter() },
    { name: 'prune allocations', periodMs: pruneIntervalMs, run: () => pruneFailedAllocations(context) },
    { name: 'prune flows', periodMs: pruneIntervalMs, run: () => pruneFlows(context) },
    { name: 'prune site actions', periodMs: pruneIntervalMs, run: () => pruneActions(context) },
    { name: 'prune webhook deliveries', periodMs: pruneIntervalMs, run: () => pruneDeliveries(context) },
    { name: 'sync power states', periodMs: config.powerSyncIntervalMs, run: (signal) => syncPower(context, signal) },
  ];
  collectProcessMetrics(context.metrics);
  const background = startPeriodicTasks(tasks, context);
  const reason = await Promise.race([signalled, context.conductors.superseded]);
  beginStop();
  log.info(
    { reason, delayMs: config.shutdownDelayMs },
    'conductor is stopping: nodes are left where the log says they are',
  );
  // others take the work at once; requests are answered until whoever sends them has heard that we are not ready
  const delay = context.clock.sleep(config.shutdownDelayMs);
  await Promise.all([background.stop(), scheduler.stop()]);
  await delay;
  await Promise.all([server.close(), bootServer?.close()]);
  tls?.close();
  if (reason instanceof Error) throw reason;
}

/** Tests only: the process dies the hard way at its n-th checkpoint, or the n-th after a signal. */
function crashAtCheckpoint({ crashAtCheckpoint: place }: ConductorConfig, log: Log): () => void {
  if (place === undefined) return () => undefined;
  const [count, signal] = place.split('+').toReversed();
  let left = signal === undefined ? Number(count) : Infinity;
  if (signal !== undefined)
    process.on('SIGUSR2', () => {
      left = Number(count);
      log.info({ checkpoint: left }, 'counting checkpoints');
    });
  return () => {
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  };
}

function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal));
  });
}

function reportFailure(log: Log, error: unknown): void {
  log.fatal({ err: error }, 'conductor ended');
  process.stderr.write(`baton conductor: ${errorChain(error)}\n`);
  // what did not get as far as being closed must not keep the process
  process.exit(1);
}

main().catch((error: unknown) => reportFailure(createLog({ component: 'conductor' }), error));
