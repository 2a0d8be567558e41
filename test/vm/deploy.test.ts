import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeFlowChanges } from '#conductor/cli/describe-flow-changes.ts';
import type { FlowView } from '#conductor/flows/flow-view.ts';
import { type DeployReport, deployAndProve } from '#test/lab/deploy-and-prove.ts';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, type LabNodeOptions, startLab } from '#test/lab/lab.ts';
import { provision, readDemoImage, waitForState } from '#test/lab/operator.ts';
import { readGpt } from '#test/lab/proofs/read-gpt.ts';

/** Whole deploys in QEMU, at the same time on one switch and one conductor. */
const machines: readonly (LabNodeOptions & { readonly name: string })[] = [
  // the other tests' machines have one processor
  { name: 'node0', firmware: 'uefi', bmc: 'redfish', cpus: 2 },
  { name: 'node1', firmware: 'bios', bmc: 'ipmi' },
];

let lab: Lab | undefined;
let outcomes: ReadonlyMap<string, PromiseSettledResult<DeployReport>> = new Map();

beforeAll(async () => {
  const image = await readDemoImage();
  lab = await startLab({ nodes: machines, report: say });
  const { nodes } = lab;
  const running = lab;
  const settled = await Promise.allSettled(
    nodes.map((node) => {
      let seen: FlowView | undefined;
      const onFlow = (flow: FlowView): void => {
        for (const line of describeFlowChanges(seen, flow, new Date())) say(`${node.name}: ${line}`);
        seen = flow;
      };
      return deployAndProve(running, node, image, { onFlow, report: say });
    }),
  );
  outcomes = new Map(nodes.map((node, index) => [node.name, settled[index] as PromiseSettledResult<DeployReport>]));
  if (settled.some(({ status }) => status === 'rejected')) say(labDiagnostics(lab, 60));
});

afterAll(() => lab?.close());

describe.each(machines)('a machine with $firmware firmware behind $bmc', ({ name }) => {
  test('becomes active, each step of the deploy in its turn', () => {
    const { flow } = report(name);
    expect(flow.state).toBe('succeeded');
    expect(flow.steps.map(({ step, priority, state }) => `${priority} ${step} ${state}`)).toEqual([
      '100 deploy succeeded',
      '80 write_image succeeded',
      '60 prepare_instance_boot succeeded',
      '40 tear_down_agent succeeded',
      '30 switch_to_tenant_network succeeded',
      '20 boot_instance succeeded',
    ]);
  });

  test('every proof holds: disk, identity, network', () => {
    const { proofs } = report(name);
    expect(proofs.filter((proof) => !proof.holds)).toEqual([]);
    expect(proofs).toHaveLength(8);
  });
});

test('an undeployed machine is off, without its partition table, and available again', async () => {
  const node = lab?.nodes[0];
  if (!lab || !node) throw new Error('there is no lab');
  const disk = node.machine.diskFiles[0] ?? '';
  expect(readGpt(disk)).toHaveLength(4);
  // metadata is erased by a clean of the node on the provisioning network
  await lab.api.call('PATCH', `/v1/nodes/${node.name}`, [{ op: 'replace', path: '/automated_clean', value: true }]);
  await provision(lab, node, 'deleted');
  try {
    const view = await waitForState(lab, node, 'available', 300_000);
    expect(view.instance_uuid).toBeNull();
  } catch (error) {
    say(labDiagnostics(lab, 60));
    throw error;
  }
  expect(node.machine.getPower()).toBe('off');
  expect(() => readGpt(disk)).toThrow('has no GUID partition table');
});

function report(name: string): DeployReport {
  const outcome = outcomes.get(name);
  if (outcome?.status !== 'fulfilled') throw outcome?.reason ?? new Error(`${name} was not deployed`);
  return outcome.value;
}

function say(line: string): void {
  process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
}
