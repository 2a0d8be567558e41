import type { DriverOptions } from '#conductor/drivers/table/registry.ts';
import { type Log, silentLog } from '#shared/log.ts';
import { waitUntil as waitUntilWithin } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, isAtRest, type Operator } from '#test/support/operator.ts';

export const off = { power: 'off', runs: 'nothing' };

export interface StepView {
  readonly uuid: string;
  readonly interface: string;
  readonly step: string;
  readonly state: string;
  readonly phase: string;
  readonly error: string | null;
  readonly waiting_for: string | null;
}

/** A conductor with one simulated node that offers clean and service steps of all sorts. */
export interface StepNode {
  readonly name: string;
  readonly conductor: ConductorInProcess;
  readonly operator: Operator;
  readonly machine: SimulatedNode;
  /** The flow under way, or the last one. */
  flow(): Promise<{ readonly kind: unknown; readonly state: unknown; readonly steps: readonly StepView[] }>;
  /** Until that in-band step runs. */
  runs(step: string): Promise<unknown>;
  patch(path: string, value: unknown): Promise<unknown>;
  /** From wherever an earlier test left it. */
  rest(state: 'manageable' | 'available' | 'active'): Promise<void>;
  /** Takes away what an earlier test made go wrong. */
  heal(): void;
  close(): Promise<void>;
}

export const waitUntil = <T>(what: string, look: () => Promise<T | undefined> | T | undefined): Promise<T> =>
  waitUntilWithin(what, async () => look(), { timeoutMs: 240_000, everyMs: 20 });

export const step = (name: string, more: object = {}) => ({ interface: 'deploy', step: name, ...more });

export interface StepNodeOptions {
  /** Settings of the conductor: `BATON_STEP_TIMEOUT`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The agent serves plain HTTP, so that `machine.agentFaults` can be put before it. */
  readonly plainHttp?: boolean;
  readonly drivers?: DriverOptions;
  readonly log?: Log;
}

export async function openStepNode({
  settings = {},
  plainHttp = false,
  drivers,
  log = silentLog,
}: StepNodeOptions = {}): Promise<StepNode> {
  const conductor = await startConductorInProcess({
    log,
    ...(drivers ? { drivers } : {}),
    settings: { ...(plainHttp ? { BATON_REQUIRE_AGENT_TLS: 'false' } : {}), ...settings },
  });
  const operator = createOperator(conductor.url);
  const name = 'stepper';
  const machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac: '52:54:00:00:03:11',
    plainHttp,
    cleanSteps: [
      { step: 'wipe', priority: 50 },
      { step: 'flash', rebootRequested: true },
      { step: 'burn_in', abortable: true },
      { step: 'careful' },
      { step: 'secure_erase', abortable: true },
      { step: 'flash_lights', abortable: true, mustNotLosePower: 0 },
    ],
    serviceSteps: [{ step: 'update_firmware' }, { step: 'check' }],
  });
  await enrolSimulatedNode(operator, machine, name);
  const flow: StepNode['flow'] = async () => {
    const view = await operator.call('GET', `/v1/nodes/${name}/flow`);
    return { kind: view['kind'], state: view['state'], steps: view['steps'] as StepView[] };
  };
  const patch = (path: string, value: unknown) =>
    operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path, value }]);
  return {
    name,
    conductor,
    operator,
    machine,
    flow,
    patch,
    runs: (stepName) =>
      waitUntil(
        `${stepName} to run`,
        async () =>
          (await flow()).steps.some((each) => each.step === stepName && each.state === 'waiting') || undefined,
      ),
    rest: async (state) => {
      for (;;) {
        const node = await operator.node(name);
        await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
        const now = String(node['provision_state']);
        if (now === state) return;
        const verb = { active: 'deleted', available: 'manage', manageable: 'provide' }[now] ?? 'manage';
        const wanted =
          now === 'available' && state === 'active' ? 'active' : now.startsWith('deploy ') ? 'deleted' : verb;
        if (wanted === 'active') await patch('/instance_info', demoInstance);
        await operator.provision(name, wanted);
        await waitUntil('the node to rest', async () => isAtRest(await operator.node(name)) || undefined);
      }
    },
    heal: () => {
      for (const fault of Object.keys(machine.faults)) Reflect.deleteProperty(machine.faults, fault);
      machine.agentFaults.clear();
      machine.bmc.clearFaults();
    },
    close: async () => {
      await machine.close();
      await conductor.close();
    },
  };
}
