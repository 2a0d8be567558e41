import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAgentClients } from '#conductor/agents/agent-client.ts';
import { createConsoles } from '#conductor/agents/consoles.ts';
import { type Allocator, createAllocator } from '#conductor/allocations/allocator.ts';
import { openAuthenticator } from '#conductor/auth/authenticator.ts';
import type { DhcpConfig } from '#conductor/boot/dhcp/dhcp-settings.ts';
import { createDrivers, type DriverOptions } from '#conductor/drivers/table/registry.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { createStepTable } from '#conductor/flows/engine/find-step.ts';
import { createScheduler, type Scheduler } from '#conductor/flows/engine/scheduler.ts';
import { makeOpenFlowsDue } from '#conductor/flows/log/flow-store.ts';
import type { HttpConfig, HttpContext } from '#conductor/http/routing/context.ts';
import { joinRegister } from '#conductor/kernel/conductors/register.ts';
import { type Database, openDatabase } from '#conductor/kernel/db/open.ts';
import { createMetrics } from '#conductor/kernel/metrics/metrics.ts';
import { loadSecrets } from '#conductor/kernel/secrets/key-file.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { TraceConfig } from '#conductor/kernel/traces/trace-settings.ts';
import { createNetworkConnector, type NetworkConnector } from '#conductor/networks/connect-node.ts';
import { type Networks, noNetworks, parseNetworksFile } from '#conductor/networks/networks-file.ts';
import type { OneWriter } from '#conductor/networks/switch-rounds.ts';
import { findSwitchDriver, switchDrivers } from '#conductor/networks/switches/index.ts';
import { leaveSessionsOf, recordBmcSessions } from '#conductor/nodes/bmc-session-store.ts';
import { parseRulesFile } from '#conductor/nodes/inspection/rules/rules-file.ts';
import type { InspectionRule } from '#conductor/nodes/inspection-rule.ts';
import { releaseStaleLeases } from '#conductor/nodes/node-lease.ts';
import { capacityChannel } from '#conductor/nodes/notify-capacity.ts';
import { openActionRunner } from '#conductor/sites/actions/action-runner.ts';
import { type SiteOperations, siteOperations } from '#conductor/sites/actions/action-work.ts';
import { openCredential } from '#conductor/sites/credentials.ts';
import { createPluginFiles } from '#conductor/sites/plugins/plugin-store.ts';
import { conductorSteps } from '#conductor/start/conductor-steps.ts';
import { startWebhookDeliverer } from '#conductor/webhooks/deliver.ts';
import { systemClock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { readPrivateFile } from '#shared/private-file.ts';
import { run } from '#shared/process/run.ts';

export interface ConductorConfig extends HttpConfig {
  readonly logLevel: string;
  readonly dataDirectory: string;
  readonly databaseUrl: string | undefined;
  readonly postgresqlUser: string | undefined;
  readonly postgresqlBinDirectory: string | undefined;
  /** With `databaseUrl` never `undefined`. */
  readonly secretKeyFile: string | undefined;
  readonly networksFile: string | undefined;
  readonly inspectionRulesFile: string | undefined;
  /** `undefined` = none of its own. */
  readonly dhcp: DhcpConfig | undefined;
  /** Folder below which the files lie that nodes may name as certificate authorities of their BMCs. */
  readonly caDirectory: string;
  readonly powerSyncIntervalMs: number;
  /** 0 = never. */
  readonly hardwareIntervalMs: number;
  readonly switchLookIntervalMs: number;
  /** The place to which flows are sent as traces; `undefined` = nowhere. */
  readonly traces: TraceConfig | undefined;
}

/** Everything that a conductor's parts share, each of which declares what it needs: made once, by `openContext`. */
export interface ConductorContext extends HttpContext {
  readonly config: ConductorConfig;
  readonly allocator: Allocator;
}

/** Milliseconds between two tries to take the lock, and until the last: its holder keeps it for a switch's whole commit. */
const retryMs = 200;
const waitMs = 300_000;

/**
 * Makes the one writer of switches: of all conductors on the database, one changes a switch at a time. The lock ends
 * with the conductor, or its connection to the database. A lock that PostgreSQL waits for would not hear of an abort:
 * hence the tries.
 */
export function oneSwitchWriter(database: Pick<Database, 'exclusive' | 'lock'>): OneWriter {
  if (database.exclusive) return (_switchId, signal, work) => work(signal);
  return async (switchId, signal, work) => {
    const lost = new AbortController();
    const lock = database.lock(`switch ${switchId.toLowerCase()}`, () => {
      const message = `the lock of switch ${switchId} went with the database's connection: another conductor may have it`;
      lost.abort(new AppError('unavailable', message));
    });
    const take = (): Promise<boolean> =>
      lock.take().catch((cause: unknown) => {
        throw new AppError('unavailable', `the database does not give the lock of switch ${switchId}`, { cause });
      });
    const deadline = performance.now() + waitMs;
    try {
      while (!(await take())) {
        signal.throwIfAborted();
        if (performance.now() > deadline) {
          throw new AppError('busy', `another conductor has been changing switch ${switchId} for ${waitMs / 1000} s`);
        }
        await sleep(retryMs);
      }
      return await work(AbortSignal.any([signal, lost.signal]));
    } finally {
      await lock.release();
    }
  };
}

export interface OpenContextOptions {
  readonly log: Log;
  readonly drivers?: DriverOptions;
  readonly checkpoint?: ConductorContext['checkpoint'];
  /** Already open; its owner closes it. Default: as configured. */
  readonly database?: Database;
  /** Effects of site actions on the world. Default: what they are for. */
  readonly siteOperations?: SiteOperations;
  /** Secrets of conductors in one process on one database. Default: as configured. */
  readonly secrets?: Secrets;
}

export interface OpenedContext {
  readonly context: ConductorContext;
  readonly scheduler: Scheduler;
  /** Has `context.stopping` abort, so that `/readyz` sends traffic elsewhere; `close` does it too. */
  readonly beginStop: () => void;
  close(): Promise<void>;
}

const nudgeChannel = 'baton_nudge';

/**
 * Opens everything of a conductor but its listener: database, drivers, switches, scheduler. Also what tests start from.
 * @throws AppError naming what can't be opened or is wrong in a file.
 */
export async function openContext(config: ConductorConfig, options: OpenContextOptions): Promise<OpenedContext> {
  const { log } = options;
  const networks = await readNetworks(config.networksFile);
  const inspectionRules = await readRules(config.inspectionRulesFile);
  const database =
    options.database ??
    (await openDatabase({
      url: config.databaseUrl,
      conductorName: config.conductorName,
      memoryFile: join(config.dataDirectory, `answered-${encodeURIComponent(config.conductorName)}.json`),
      dataDirectory: config.dataDirectory,
      user: config.postgresqlUser,
      binDirectory: config.postgresqlBinDirectory,
      log,
    }));
  try {
    return await openOn(database, { config, networks, inspectionRules, options });
  } catch (error) {
    // its server and its timers would outlive the failure
    if (!options.database) await database.close();
    throw error;
  }
}

/** Settings that were read and checked before the database was opened. */
interface Configured {
  readonly config: ConductorConfig;
  readonly networks: Networks;
  readonly inspectionRules: readonly InspectionRule[];
  readonly options: OpenContextOptions;
}

/** Frees all that an earlier life of this conductor held; its flows go on. */
async function endEarlierLife({ db, exclusive }: Database, { conductorName }: ConductorConfig): Promise<void> {
  await releaseStaleLeases(db, { holder: conductorName, exclusive });
  await leaveSessionsOf(db, conductorName);
  await makeOpenFlowsDue(db);
}

function connectNetworks(
  { networks, options: { log } }: Configured,
  database: Database,
  secrets: Secrets,
): NetworkConnector {
  return createNetworkConnector(
    networks,
    (name) => findSwitchDriver(name),
    oneSwitchWriter(database),
    (name) => openCredential({ db: database.db, secrets }, name),
    (switchId, vlans, err) => log.warn({ err, switchId, vlans }, 'VLANs not removed; a later move tries again'),
    switchDrivers,
  );
}

async function openOn(database: Database, configured: Configured): Promise<OpenedContext> {
  const { config, inspectionRules, options } = configured;
  const { log } = options;
  const secrets = options.secrets ?? (await loadSecrets(config));
  const basics = { db: database.db, clock: systemClock, log };
  const auth = await openAuthenticator(config.auth, { ...basics, secrets });
  const metrics = createMetrics();
  const sessions = recordBmcSessions({ ...basics, config });
  const drivers = createDrivers(
    { run, log, metrics, secrets, sessions, outbound: config.outbound.bmcs, caDirectory: config.caDirectory },
    options.drivers,
  );
  const conductors = await joinRegister({
    config,
    database,
    drivers: drivers.hardwareTypes.map((type) => type.name),
    clock: systemClock,
    log,
    metrics,
  });
  await endEarlierLife(database, config);
  const stopping = new AbortController();
  const engine: EngineContext & Pick<ConductorContext, 'config'> = {
    ...basics,
    config,
    database,
    secrets,
    drivers,
    conductors,
    metrics,
    networks: connectNetworks(configured, database, secrets),
    inspectionRules,
    agents: createAgentClients(secrets, config.outbound.agents),
    pluginFiles: createPluginFiles(database.db),
    steps: createStepTable(conductorSteps),
    stopping: stopping.signal,
    checkpoint: options.checkpoint ?? (() => undefined),
    nudge: (nodeUuid, origin = 'operator') => scheduler.nudge(nodeUuid, origin),
  };
  const scheduler = createScheduler({
    context: engine,
    // reconciling makes up for one that is lost
    notifyOthers: (nodeUuid) => {
      if (database.exclusive) return;
      database.notify(nudgeChannel, nodeUuid).catch((err: unknown) => log.warn({ err }, 'nudge not passed on'));
    },
  });
  const context: ConductorContext = {
    ...engine,
    run,
    auth,
    allocator: createAllocator({ context: engine, clock: systemClock }),
    consoles: createConsoles({ ...basics, conductorName: config.conductorName, lock: database.lock }),
  };
  if (!database.exclusive) {
    await database.listen(nudgeChannel, (nodeUuid) => scheduler.nudge(nodeUuid, 'another conductor'));
  }
  const workers = await startWorkers(context, options.siteOperations ?? siteOperations);
  return {
    context,
    scheduler,
    beginStop: () => stopping.abort(new Error('the conductor is stopping')),
    close: async () => {
      stopping.abort(new Error('the conductor is stopping'));
      try {
        await Promise.all([scheduler.stop(), workers.stop(), context.consoles.close()]);
        auth.close();
        await conductors.close();
        await Promise.all([context.drivers.close(), context.agents.close(), context.networks.close()]);
      } finally {
        if (!options.database) await database.close();
      }
    },
  };
}

/** Starts all that works without being asked, beside the scheduler. */
async function startWorkers(context: ConductorContext, operations: SiteOperations): Promise<{ stop(): Promise<void> }> {
  const { allocator, clock, database } = context;
  await database.listen(capacityChannel, () => allocator.kick());
  await allocator.resume();
  const webhooks = await startWebhookDeliverer(context);
  const siteActions = await openActionRunner({ context, clock, operations });
  return {
    stop: async () => {
      await Promise.all([allocator.stop(), siteActions.stop(), webhooks.stop()]);
    },
  };
}

async function readNetworks(file: string | undefined): Promise<Networks> {
  if (!file) return noNetworks;
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new AppError('invalid_argument', `BATON_NETWORKS_FILE: read ${file}`, { cause });
  });
  return parseNetworksFile(text, file, switchDrivers);
}

async function readRules(file: string | undefined): Promise<readonly InspectionRule[]> {
  if (!file) return [];
  const text = await readPrivateFile(file).catch((cause: unknown) => {
    throw new AppError('invalid_argument', `BATON_INSPECTION_RULES_FILE: read ${file}`, { cause });
  });
  return parseRulesFile(text, file);
}
