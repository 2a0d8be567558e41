import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { syncPower } from '#conductor/flows/background/sync-power.ts';
import { createApp } from '#conductor/http/app.ts';
import { listen } from '#conductor/http/listen.ts';
import { startPeriodicTasks } from '#conductor/kernel/wake-loop.ts';
import { readConfig } from '#conductor/start/config.ts';
import { openContext } from '#conductor/start/open-context.ts';
import { type Log, silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { type PostgresPair, startPostgresPair } from '#test/support/standby.ts';

/** A conductor on a primary server and its standby, with a machine and nodes to be allocated. */
export interface PromotionLab {
  readonly pair: PostgresPair;
  readonly url: string;
  readonly operator: Operator;
  readonly machine: SimulatedNode;
  /** Calls it once, when the `checkpoint`th from now on is passed. */
  atCheckpoint(checkpoint: number, strike: () => void): void;
  /** Asks for so many allocations at once. @returns those that were answered, by name */
  allocate(names: readonly string[]): Promise<string[]>;
  /** Which node each allocation has, by its name, once all have one or an error. */
  allocations(): Promise<ReadonlyMap<string, string | null>>;
  close(): Promise<void>;
}

const resourceClass = 'promoted';

export async function startPromotionLab(options: {
  readonly spares: number;
  readonly log?: Log;
}): Promise<PromotionLab> {
  await using opening = new AsyncDisposableStack();
  const pair = await startPostgresPair();
  opening.defer(() => pair.close());
  const directory = await mkdtemp(join(tmpdir(), 'baton-promotion-'));
  opening.defer(() => rm(directory, { recursive: true }));
  const state = { left: Number.POSITIVE_INFINITY, strike: () => undefined as void };
  const config = readConfig({
    ...pair.settings,
    BATON_CONDUCTOR_NAME: 'promoted',
    BATON_DATA_DIR: directory,
    BATON_RETRY_TIMEOUT: '3600',
  });
  const log = options.log ?? silentLog;
  const opened = await openContext(config, {
    log,
    checkpoint: () => {
      state.left -= 1;
      if (state.left === 0) state.strike();
    },
  });
  opening.defer(() => opened.close());
  const app = createApp(opened.context);
  const server = await listen(app.fetch, { host: '127.0.0.1', port: 0 });
  opening.defer(() => server.close());
  const { allocator } = opened.context;
  const tasks = [
    { name: 'reconcile', periodMs: 200, run: () => opened.scheduler.reconcile() },
    { name: 'allocations', periodMs: 200, run: () => allocator.lookAfter() },
    // of a node that was held it is unknown
    { name: 'sync power states', periodMs: 500, run: (signal: AbortSignal) => syncPower(opened.context, signal) },
  ];
  const background = startPeriodicTasks(tasks, opened.context);
  opening.defer(() => background.stop());
  const operator = createOperator(server.url, { retries: 30 });
  const machine = await startSimulatedNode({ conductorUrl: () => server.url, mac: '52:54:00:00:0e:77', stepMs: 0 });
  opening.defer(() => machine.close());
  await enrolSimulatedNode(operator, machine, 'machine');
  for (let index = 0; index < options.spares; index += 1) {
    const name = `spare-${index}`;
    await operator.call('POST', '/v1/nodes', {
      name,
      driver: 'fake-hardware',
      resource_class: resourceClass,
      automated_clean: false,
    });
    await operator.provision(name, 'manage');
    await operator.waitForState(name, 'manageable');
    await operator.provision(name, 'provide');
    await operator.waitForState(name, 'available');
  }
  const closing = opening.move();
  return {
    pair,
    url: server.url,
    operator,
    machine,
    atCheckpoint: (checkpoint, strike) => {
      Object.assign(state, { left: checkpoint, strike });
    },
    allocate: async (names) => {
      const once = createOperator(server.url);
      const asked = names.map((name) => once.call('POST', '/v1/allocations', { name, resource_class: resourceClass }));
      const answers = await Promise.allSettled(asked);
      return names.filter((_, index) => answers[index]?.status === 'fulfilled');
    },
    allocations: async () => {
      const { allocations } = (await operator.call('GET', '/v1/allocations')) as {
        allocations: { name: string; node_uuid: string | null }[];
      };
      return new Map(allocations.map((each) => [each.name, each.node_uuid]));
    },
    close: () => closing.disposeAsync(),
  };
}
