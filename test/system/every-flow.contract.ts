import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import { type ClustersOfNode, startClustersOfNode } from '#test/support/clusters-of-node.ts';
import { type FlowScenario, flowScenarios } from '#test/support/flow-scenarios.ts';
import { type FlowStage, openFlowStage, struckBy } from '#test/support/flow-stage.ts';
import { off } from '#test/support/step-node.ts';

/**
 * For each of these kinds of flow: a conductor that dies at any checkpoint (so that any step may run twice) ends in the
 * same state, and a failure after any step ends in the failed state with nothing left running. How each is begun and ends
 * stands in `flow-scenarios.ts`.
 */
export function flowContract(name: string, mac: string, kinds: readonly FlowKindName[]): void {
  let clusters: ClustersOfNode;
  let stage: FlowStage;
  let scenarios: readonly FlowScenario[];

  beforeAll(async () => {
    clusters = await startClustersOfNode(name);
    stage = await openFlowStage(name, { mac, settings: { BATON_KUBECONFIG: clusters.small.kubeconfigFile } });
    await clusters.commit(stage.conductor.url);
    scenarios = flowScenarios(stage, clusters);
  });
  afterAll(async () => {
    await stage.close();
    await clusters.close();
  });

  function scenarioOf(kind: FlowKindName): FlowScenario {
    const found = scenarios.find(({ flow }) => flow === kind);
    if (!found) throw new Error(`there is no scenario of ${kind}`);
    return found;
  }

  describe.each(kinds)('%s', (kind) => {
    test('a conductor that dies at any checkpoint ends in the same state', async () => {
      const scenario = scenarioOf(kind);
      const { machine } = stage;
      const { prepare, start, steps = 3 } = scenario;
      let sofar = { disk: 0, boots: 0 };
      const boots: number[] = [];
      const prepareOnce = async () => {
        await prepare();
        sofar = { disk: machine.disk.length, boots: machine.boots() };
      };
      const deaths = await stage.dieAtEach({ prepare: prepareOnce, start }, async (node, checkpoint) => {
        const end = {
          state: node['provision_state'],
          flow: await stage.lastFlow(),
          reservation: node['reservation'],
          machine: machine.state(),
          disk: [...new Set(machine.disk.slice(sofar.disk))],
        };
        expect(end, `died at checkpoint ${checkpoint}`).toEqual({
          state: scenario.ends,
          flow: `${kind} succeeded`,
          reservation: null,
          machine: scenario.machineAtEnd,
          disk: scenario.disk,
        });
        scenario.check?.();
        boots.push(machine.boots() - sofar.boots);
      });
      // a conductor that takes over repeats no boot: the last time none had died
      expect(boots).toEqual(boots.map(() => boots.at(-1)));
      // each step is started, acts, and is recorded
      expect(deaths).toBeGreaterThanOrEqual(3 * steps);
    });

    test('a failure of any step ends in the failed state, the machine made safe', async () => {
      const scenario = scenarioOf(kind);
      const { steps = 3, machineAfterFailure = off, advice = '`ba' } = scenario;
      const failures = await stage.failEach(scenario, async (node, action) => {
        expect(node, `action ${action}`).toMatchObject({ provision_state: scenario.fails, reservation: null });
        expect(node['last_error'], `action ${action}`).toContain(struckBy);
        const flow = await stage.operator.call('GET', `/v1/nodes/${name}/flow`);
        expect(flow, `action ${action}`).toMatchObject({
          state: 'failed',
          advice: expect.stringContaining(advice) as unknown,
        });
        expect(stage.machine.state(), `action ${action}`).toEqual(machineAfterFailure);
      });
      expect(failures).toBeGreaterThanOrEqual(steps);
    });
  });
}
