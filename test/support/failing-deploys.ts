import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { demoInstance } from '#test/support/enrol.ts';
import { openStepNode, type StepNode, type StepView, waitUntil } from '#test/support/step-node.ts';

/** An operator's view of a flow that has ended. */
export interface Outcome {
  readonly state: string;
  readonly last_error: string;
  readonly advice: string;
  readonly steps: readonly StepView[];
  readonly reservation: unknown;
}

/** Deploys of a node, in which something goes wrong. */
export interface FailingDeploys {
  readonly node: StepNode;
  start(body?: object): Promise<void>;
  reported(state: string): Promise<Outcome>;
  /** The end of every failed deploy: step and cause are told, the rest is skipped, the machine is off, nothing is held. */
  failsIn(failed: string, cause: RegExp): Promise<Outcome>;
  logsAreKept(): Promise<boolean>;
  isActive(): Promise<boolean>;
  onHold(): Promise<void>;
}

const bios = { interface: 'bios', step: 'apply_configuration', priority: 85 };

/** A step of the driver, amid the agent's. */
export const change = (value: string) => ({ ...bios, args: { settings: [{ name: 'SysProfile', value }] } });

const way = '`baton rebuild stepper` tries again, `baton undeploy stepper` gives the node back.';

/** @param settings of the conductor: time limits, so that none strikes where another is meant */
export async function openFailingDeploys(settings: Readonly<Record<string, string>>): Promise<FailingDeploys> {
  return failingDeploysOn(
    await openStepNode({ settings: { BATON_HEARTBEAT_TIMEOUT: '2', ...settings }, plainHttp: true }),
  );
}

export function failingDeploysOn(node: StepNode): FailingDeploys {
  const start: FailingDeploys['start'] = async (body: object = {}) => {
    await node.rest('available');
    await node.patch('/instance_info', demoInstance);
    await node.operator.provision(node.name, 'active', { ...body });
  };
  const reported: FailingDeploys['reported'] = async (state: string) => {
    const rested = await node.operator.waitForState(node.name, state);
    const flow = await node.operator.call('GET', `/v1/nodes/${node.name}/flow`);
    return {
      state: String(flow['state']),
      last_error: String(rested['last_error']),
      advice: String(flow['advice']),
      steps: flow['steps'] as StepView[],
      reservation: rested['reservation'],
    };
  };
  const failsIn: FailingDeploys['failsIn'] = async (failed: string, cause: RegExp) => {
    const end = await reported('deploy failed');
    expect(end.last_error).toContain(`deploy step ${failed} failed: `);
    expect(end.last_error).toMatch(cause);
    expect(end).toMatchObject({ state: 'failed', reservation: null });
    const main = end.steps.filter((each) => each.phase === 'main');
    const at = main.findIndex((each) => `${each.interface}.${each.step}` === failed);
    expect(main.map((each) => each.state)).toEqual(
      main.map((_, index) => (index < at ? 'succeeded' : index === at ? 'failed' : 'skipped')),
    );
    expect(end.advice).toContain(way);
    return end;
  };
  const logsAreKept: FailingDeploys['logsAreKept'] = async () => {
    const flow = await node.operator.call('GET', `/v1/nodes/${node.name}/flow`);
    const answer = await fetch(`${node.conductor.url}/v1/nodes/${node.name}/flow/logs?flow=${String(flow['uuid'])}`);
    if (!answer.ok) return false;
    return gunzipSync(Buffer.from(await answer.arrayBuffer())).length > 0;
  };
  const isActive: FailingDeploys['isActive'] = async () => {
    await node.operator.waitForState(node.name, 'active');
    const { power, runs } = node.machine.state();
    return power === 'on' && runs === 'instance';
  };
  const onHold: FailingDeploys['onHold'] = async () => {
    await waitUntil('the hold', async () => {
      const { provision_state: state } = await node.operator.node(node.name);
      return state === 'deploy hold' || undefined;
    });
    const { on_hold: reason, advice } = await node.operator.call('GET', `/v1/nodes/${node.name}/flow`);
    expect({ reason, advice }).toEqual({
      reason: "the operator's word (unhold)",
      advice: '`baton unhold stepper` continues it, `baton abort stepper` ends it.',
    });
  };
  return { node, start, reported, failsIn, logsAreKept, isActive, onHold };
}
