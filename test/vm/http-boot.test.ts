import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deployAndProve } from '#test/lab/deploy-and-prove.ts';
import { type DeployOutcomes, deployOnEach, reportOf } from '#test/lab/deploy-on-each.ts';
import { type Lab, startLab } from '#test/lab/lab.ts';
import { readDemoImage } from '#test/lab/operator.ts';
import { say } from '#test/support/say.ts';

/** A machine whose firmware loads the ramdisk by HTTP itself: no PXE, no TFTP, no iPXE. */

let lab: Lab | undefined;
let outcomes: DeployOutcomes = new Map();

beforeAll(async () => {
  const image = await readDemoImage();
  lab = await startLab({ nodes: [{ name: 'node0', firmware: 'uefi', bmc: 'redfish', boot: 'http' }], report: say });
  const running = lab;
  outcomes = await deployOnEach(running, (node, reporting) => deployAndProve(running, node, image, reporting), say);
});
afterAll(() => lab?.close());

test('every proof of a deploy holds', () => {
  const { flow, proofs } = reportOf(outcomes, 'node0');
  expect(flow.state).toBe('succeeded');
  expect(proofs.filter((proof) => !proof.holds)).toEqual([]);
  expect(proofs).toHaveLength(8);
});

test('the firmware has loaded the ramdisk by itself', () => {
  const serial = readFileSync(lab?.nodes[0]?.machine.serialLog ?? '', 'latin1');
  expect(serial).toContain('Start HTTP Boot over IPv4');
  expect(serial).not.toContain('iPXE');
});
