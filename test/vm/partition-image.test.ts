import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deployAndProve } from '#test/lab/deploy-and-prove.ts';
import { type DeployOutcomes, deployOnEach, reportOf } from '#test/lab/deploy-on-each.ts';
import { type Lab, type LabNodeOptions, startLab } from '#test/lab/lab.ts';
import { readDemoRootImage } from '#test/lab/operator.ts';
import { say } from '#test/support/say.ts';

/** A root file system image, as qcow2, deployed and booted by the GRUB that is installed for it. */
const machines: readonly (LabNodeOptions & { readonly name: string })[] = [
  { name: 'node0', firmware: 'uefi', bmc: 'redfish' },
  { name: 'node1', firmware: 'bios', bmc: 'ipmi' },
];
const rootGb = 3;

let lab: Lab | undefined;
let outcomes: DeployOutcomes = new Map();

beforeAll(async () => {
  const image = await readDemoRootImage(rootGb);
  lab = await startLab({ nodes: machines, report: say });
  const running = lab;
  outcomes = await deployOnEach(running, (node, reporting) => deployAndProve(running, node, image, reporting), say);
});

afterAll(() => lab?.close());

describe.each(machines)('$firmware', ({ name }) => {
  test('the system boots, and is the one that was meant', () => {
    const { flow, proofs } = reportOf(outcomes, name);
    expect(flow.state).toBe('succeeded');
    expect(proofs.filter((proof) => !proof.holds)).toEqual([]);
    // host name and UUID from the config drive's partition, and the network's three
    expect(proofs).toHaveLength(5);
  });
});
