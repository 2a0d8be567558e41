import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, isAtRest, type Operator } from '#test/support/operator.ts';

type NodeView = Record<string, unknown>;

/** How a flow is begun, again and again. */
export interface Beginning {
  /** Brings the node to where the flow starts, from wherever it is. */
  readonly prepare: () => Promise<void>;
  readonly start: () => Promise<void>;
}

/** A conductor and one machine over the full protocol, whose flows are struck wherever they can be. */
export interface FlowStage {
  readonly name: string;
  readonly conductor: ConductorInProcess;
  readonly operator: Operator;
  readonly machine: SimulatedNode;
  /** The node, once nothing is under way and nothing follows. */
  readonly rest: () => Promise<NodeView>;
  /** Asks for a verb, and waits until the node rests. */
  readonly ask: (verb: string, more?: NodeView) => Promise<void>;
  readonly stateNow: () => Promise<string>;
  readonly setAutomatedClean: (value: boolean) => Promise<void>;
  /** No more strikes, no maintenance, no cleaning. */
  readonly heal: () => Promise<void>;
  /** From wherever it is to `available`, without cleaning and with the instance's settings in place. */
  readonly makeAvailable: () => Promise<void>;
  readonly makeManageable: () => Promise<void>;
  /** With an instance that runs. */
  readonly makeActive: () => Promise<void>;
  /** `wipe succeeded` */
  readonly lastFlow: () => Promise<string>;
  /**
   * The flow over and over: the conductor dies at its first checkpoint, then at its second, …, until it has ended without a death.
   * @param check what must be so whenever it has ended
   * @returns how often it has died
   */
  readonly dieAtEach: (
    work: Beginning,
    check: (node: NodeView, checkpoint: number) => Promise<void>,
  ) => Promise<number>;
  /**
   * The flow over and over: its first act fails, then its second, …, until it has ended without a failure.
   * @param check what must be so whenever it has failed
   * @returns how often it has
   */
  readonly failEach: (work: Beginning, check: (node: NodeView, action: number) => Promise<void>) => Promise<number>;
  readonly close: () => Promise<void>;
}

/** Cause that a failed flow names. */
export const struckBy = 'struck by the test';

export async function openFlowStage(
  name: string,
  { mac, settings = {} }: { readonly mac: string; readonly settings?: Readonly<Record<string, string>> },
): Promise<FlowStage> {
  // the silence of an agent that has stood aside is soon told
  const conductor = await startConductorInProcess({
    log: silentLog,
    settings: { BATON_HEARTBEAT_TIMEOUT: '4', ...settings },
  });
  const operator = createOperator(conductor.url);
  const machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac,
    cleanSteps: [
      { step: 'erase_devices_metadata', priority: 99 },
      { step: 'flash', rebootRequested: true },
    ],
    serviceSteps: [{ step: 'check' }],
  });
  await enrolSimulatedNode(operator, machine, name);
  const ways = createWays(name, conductor, operator, machine);
  return {
    name,
    conductor,
    operator,
    machine,
    ...ways,
    lastFlow: async () => {
      const { kind, state } = await operator.call('GET', `/v1/nodes/${name}/flow`);
      return `${String(kind)} ${String(state)}`;
    },
    dieAtEach: ({ prepare, start }, check) =>
      conductor.dieAtEach({
        prepare,
        act: async () => {
          await start();
          await ways.rest();
        },
        check: async (checkpoint) => check(await ways.rest(), checkpoint),
      }),
    failEach: (work, check) => failEach(conductor, ways.rest, work, check),
    close: async () => {
      await machine.close();
      await conductor.close();
    },
  };
}

type Ways = Pick<
  FlowStage,
  'rest' | 'ask' | 'stateNow' | 'setAutomatedClean' | 'heal' | 'makeAvailable' | 'makeManageable' | 'makeActive'
>;

/** Between the states in which flows leave the node. */
function createWays(name: string, conductor: ConductorInProcess, operator: Operator, machine: SimulatedNode): Ways {
  const patch = (path: string, value: unknown) =>
    operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path, value }]);
  const rest = () =>
    waitUntil(
      'the flow to end and the node to rest',
      async () => {
        const { ended_at: endedAt } = await operator.call('GET', `/v1/nodes/${name}/flow`);
        if (endedAt === null) return undefined;
        const node = await operator.node(name);
        return isAtRest(node) ? node : undefined;
      },
      { timeoutMs: 240_000, everyMs: 50 },
    );
  const ways: Ways = {
    rest,
    ask: async (verb, more = {}) => {
      await operator.provision(name, verb, more);
      await rest();
    },
    stateNow: async () => String((await operator.node(name))['provision_state']),
    setAutomatedClean: async (value) => {
      await patch('/automated_clean', value);
    },
    heal: async () => {
      conductor.atCheckpoints(() => 'go on');
      await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
      await ways.setAutomatedClean(false);
    },
    makeAvailable: async () => {
      await ways.heal();
      const verbs: Readonly<Record<string, string>> = { manageable: 'provide', enroll: 'manage' };
      const taken = [
        'active',
        'error',
        'deploy failed',
        'service failed',
        'rescue',
        'rescue failed',
        'unrescue failed',
      ];
      for (let state = await ways.stateNow(); state !== 'available'; state = await ways.stateNow()) {
        await ways.ask(verbs[state] ?? (taken.includes(state) ? 'deleted' : 'manage'));
      }
      await patch('/instance_info', demoInstance);
    },
    makeManageable: async () => {
      await ways.makeAvailable();
      await ways.ask('manage');
    },
    makeActive: async () => {
      await ways.heal();
      const state = await ways.stateNow();
      if (state === 'service failed') await ways.ask('abort');
      if (state === 'rescue' || state.endsWith('rescue failed')) await ways.ask('unrescue');
      if ((await ways.stateNow()) === 'active' && machine.state().runs === 'instance') return;
      await ways.makeAvailable();
      await ways.ask('active');
    },
  };
  return ways;
}

async function failEach(
  conductor: ConductorInProcess,
  rest: FlowStage['rest'],
  { prepare, start }: Beginning,
  check: (node: NodeView, action: number) => Promise<void>,
): Promise<number> {
  for (let action = 1; ; action += 1) {
    await prepare();
    let struck = false;
    let acted = 0;
    conductor.atCheckpoints((checkpoint) => {
      acted += checkpoint === 'acted' ? 1 : 0;
      if (checkpoint !== 'acted' || acted !== action) return 'go on';
      struck = true;
      return new AppError('bmc_error', struckBy);
    });
    await start();
    const node = await rest();
    if (!struck) return action - 1;
    await check(node, action);
  }
}
