import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { createAgentClients } from '#conductor/agents/agent-client.ts';
import { createConsoles } from '#conductor/agents/consoles.ts';
import { createAllocator } from '#conductor/allocations/allocator.ts';
import { openAuthenticator } from '#conductor/auth/authenticator.ts';
import { readFault } from '#conductor/cli/shell/render-status.ts';
import { createDrivers, type DriverOptions } from '#conductor/drivers/table/registry.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { createStepTable } from '#conductor/flows/engine/find-step.ts';
import { createApp } from '#conductor/http/app.ts';
import type { ApiApp } from '#conductor/http/routing/define-routes.ts';
import { joinRegister } from '#conductor/kernel/conductors/register.ts';
import type { Database } from '#conductor/kernel/db/open.ts';
import { createMetrics } from '#conductor/kernel/metrics/metrics.ts';
import { createNetworkConnector } from '#conductor/networks/connect-node.ts';
import { type Networks, noNetworks } from '#conductor/networks/networks-file.ts';
import { findSwitchDriver, switchDrivers } from '#conductor/networks/switches/index.ts';
import { openCredential } from '#conductor/sites/credentials.ts';
import { createPluginFiles } from '#conductor/sites/plugins/plugin-store.ts';
import { conductorSteps } from '#conductor/start/conductor-steps.ts';
import { readConfig } from '#conductor/start/config.ts';
import type { ConductorConfig, ConductorContext } from '#conductor/start/open-context.ts';
import { systemClock } from '#shared/clock.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { answerCheck } from '#test/support/check-answer.ts';
import { openTestDatabase } from '#test/support/test-database.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

type Json = Record<string, unknown>;

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** `{}` when there is none. */
  readonly body: Json;
  /** `body.uuid`, or empty. */
  readonly uuid: string;
  /** The text of an error, unpacked from its double encoding. */
  readonly fault: string | undefined;
}

/** The whole API in process, on a database in memory, with fake hardware and nobody who works on nodes. */
const shortPatienceMs = 100;

export interface TestApi {
  readonly context: ConductorContext;
  /** UUIDs of nodes that were nudged since the last reset. */
  readonly nudged: string[];
  call(
    method: string,
    path: string,
    body?: unknown,
    version?: string,
    headers?: Readonly<Record<string, string>>,
  ): Promise<ApiAnswer>;
  /** Sends a request as it is, with what is not JSON object, too; a path, or a whole URL. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** Patience of the allocator; `reset` makes it short again. */
  readonly patience: { patienceMs: number; readonly retryMs: number };
  /** Forgets all nodes. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

interface TestApiOptions {
  readonly inspectionRules?: ConductorContext['inspectionRules'];
  readonly networks?: Networks;
  readonly drivers?: DriverOptions;
  readonly settings?: Readonly<Record<string, string>>;
}

/** Opens what all of it shares, but for who works on nodes. */
async function openEngine(
  config: ConductorConfig,
  database: Database,
  options: TestApiOptions,
): Promise<EngineContext & Pick<ConductorContext, 'config'>> {
  const networks = options.networks ?? noNetworks;
  const metrics = createMetrics();
  const drivers = createDrivers({ run, log: silentLog, metrics, secrets: testSecrets }, options.drivers);
  const conductors = await joinRegister({
    config,
    database,
    drivers: drivers.hardwareTypes.map((type) => type.name),
    clock: systemClock,
    log: silentLog,
    metrics,
  });
  return {
    config,
    database,
    db: database.db,
    log: silentLog,
    clock: { now: () => new Date(), sleep: () => Promise.resolve() },
    secrets: testSecrets,
    drivers,
    conductors,
    inspectionRules: options.inspectionRules ?? [],
    agents: createAgentClients(testSecrets, config.outbound.agents),
    pluginFiles: createPluginFiles(database.db),
    steps: createStepTable(conductorSteps),
    networks: createNetworkConnector(
      networks,
      (name) => findSwitchDriver(name),
      undefined,
      (name) => openCredential({ db: database.db, secrets: testSecrets }, name),
      undefined,
      switchDrivers,
    ),
    metrics,
    stopping: new AbortController().signal,
    checkpoint: () => undefined,
    nudge: () => undefined,
  };
}

/** Opening the database takes seconds: once per test file. */
export async function openTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const dataDirectory = join(tmpdir(), `baton-test-${randomUUID()}`);
  const config = readConfig({ BATON_DATA_DIR: dataDirectory, BATON_CONDUCTOR_NAME: 'test-host', ...options.settings });
  const database = await openTestDatabase();
  const nudged: string[] = [];
  const engine = await openEngine(config, database, options);
  const basics = { db: database.db, clock: systemClock, log: silentLog };
  const patience = { patienceMs: shortPatienceMs, retryMs: 10 };
  const allocator = createAllocator({
    context: engine,
    clock: systemClock,
    patience,
  });
  const context: ConductorContext = {
    ...engine,
    run,
    auth: await openAuthenticator(config.auth, { ...basics, secrets: testSecrets }),
    allocator,
    consoles: createConsoles({ ...basics, conductorName: 'test-host', lock: database.lock }),
    nudge: (nodeUuid) => {
      nudged.push(nodeUuid);
    },
  };
  const request = checkedRequests(createApp(context));
  return {
    context,
    nudged,
    patience,
    call: callsOf(request),
    request,
    reset: async () => {
      nudged.length = 0;
      patience.patienceMs = shortPatienceMs;
      // a round under way would go on among the next test's rows
      await allocator.idle();
      await database.db.execute(sql`truncate nodes, allocations cascade`);
    },
    close: async () => {
      await allocator.stop();
      await context.conductors.close();
      await database.close();
      await rm(dataDirectory, { recursive: true, force: true });
    },
  };
}

/** Each success answer is what the schema of its operation says, or the request fails. */
function checkedRequests(app: ApiApp): TestApi['request'] {
  const checkAnswer = answerCheck(app);
  return async (path, init) => {
    const url = String(new URL(path, 'http://api.example'));
    const answer = await app.request(url, init);
    await checkAnswer(init?.method ?? 'GET', url, answer);
    return answer;
  };
}

function callsOf(request: TestApi['request']): TestApi['call'] {
  return async (method, path, body, version = '1.96', headers = {}) => {
    const answer = await request(path, {
      method,
      headers: {
        ...(version === '' ? {} : { 'X-OpenStack-Ironic-API-Version': version }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const json = text === '' ? {} : (JSON.parse(text) as Json);
    return {
      status: answer.status,
      headers: answer.headers,
      body: json,
      uuid: textOf(json['uuid']),
      fault: readFault(text).message,
    };
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
