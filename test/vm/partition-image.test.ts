import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeFlowChanges } from '#conductor/cli/describe-flow-changes.ts';
import type { FlowView } from '#conductor/flows/flow-view.ts';
import { type DeployReport, deployAndProve } from '#test/lab/deploy-and-prove.ts';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, type LabNodeOptions, startLab } from '#test/lab/lab.ts';
import { readDemoRootImage } from '#test/lab/operator.ts';

/** A root file system image, as qcow2, deployed and booted by the GRUB that is installed for it. */
const machines: readonly (LabNodeOptions & { readonly name: string })[] = [
  { name: 'node0', firmware: 'uefi', bmc: 'redfish' },
  { name: 'node1', firmware: 'bios', bmc: 'ipmi' },
];
const rootGb = 3;

let lab: Lab | undefined;
let outcomes: ReadonlyMap<string, PromiseSettledResult<DeployReport>> = new Map();

beforeAll(async () => {
  const image = await readDemoRootImage(rootGb);
  lab = await startLab({ nodes: machines, report: say });
  const running = lab;
  const settled = await Promise.allSettled(
    running.nodes.map((node) => {
      let seen: FlowView | undefined;
      const onFlow = (flow: FlowView): void => {
        for (const line of describeFlowChanges(seen, flow, new Date())) say(`${node.name}: ${line}`);
        seen = flow;
      };
      return deployAndProve(running, node, image, { onFlow, report: say });
    }),
  );
  outcomes = new Map(
    running.nodes.map((node, index) => [node.name, settled[index] as PromiseSettledResult<DeployReport>]),
  );
  if (settled.some(({ status }) => status === 'rejected')) say(labDiagnostics(running, 60));
});

afterAll(() => lab?.close());

describe.each(machines)('$firmware', ({ name }) => {
  test('the system boots, and is the one that was meant', () => {
    const outcome = outcomes.get(name);
    if (outcome?.status !== 'fulfilled') throw outcome?.reason ?? new Error(`${name} was not deployed`);
    const { flow, proofs } = outcome.value;
    expect(flow.state).toBe('succeeded');
    expect(proofs.filter((proof) => !proof.holds)).toEqual([]);
    // host name and UUID from the config drive's partition, and the network's three
    expect(proofs).toHaveLength(5);
  });
});

function say(line: string): void {
  process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
}
