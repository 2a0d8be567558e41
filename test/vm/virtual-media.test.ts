import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deployAndProve } from '#test/lab/deploy-and-prove.ts';
import { type DeployOutcomes, deployOnEach, reportOf } from '#test/lab/deploy-on-each.ts';
import { type Lab, type LabNodeOptions, startLab } from '#test/lab/lab.ts';
import { readDemoImage } from '#test/lab/operator.ts';
import { say } from '#test/support/say.ts';

/** Machines that get the ramdisk as a CD from their BMC, on a provisioning network without DHCP and TFTP. */
const machines: readonly (LabNodeOptions & { readonly name: string })[] = [
  { name: 'node0', firmware: 'uefi', bmc: 'redfish', boot: 'vmedia' },
  { name: 'node1', firmware: 'bios', bmc: 'redfish', boot: 'vmedia' },
];

let lab: Lab | undefined;
let outcomes: DeployOutcomes = new Map();

beforeAll(async () => {
  const image = await readDemoImage();
  lab = await startLab({ nodes: machines, report: say });
  const running = lab;
  outcomes = await deployOnEach(running, (node, reporting) => deployAndProve(running, node, image, reporting), say);
});

afterAll(() => lab?.close());

describe.each(machines)('$firmware', ({ name }) => {
  test('every proof of a deploy holds', () => {
    const { flow, proofs } = reportOf(outcomes, name);
    expect(flow.state).toBe('succeeded');
    expect(proofs.filter((proof) => !proof.holds)).toEqual([]);
    expect(proofs).toHaveLength(8);
  });
});
