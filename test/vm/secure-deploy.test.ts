import { afterAll, beforeAll, expect, test } from 'vitest';
import { deployAndProve } from '#test/lab/deploy-and-prove.ts';
import { type DeployOutcomes, deployOnEach, reportOf } from '#test/lab/deploy-on-each.ts';
import { type Lab, startLab } from '#test/lab/lab.ts';
import { readDemoImage } from '#test/lab/operator.ts';
import { proveTrust } from '#test/lab/proofs/prove-trust.ts';
import { buildSignedImage } from '#test/lab/signed-image.ts';
import { say } from '#test/support/say.ts';

/** A whole deploy on a machine as it is sold, with Secure Boot by Microsoft's keys and a TPM, which has to prove itself. */

let lab: Lab | undefined;
let outcomes: DeployOutcomes = new Map();

beforeAll(async () => {
  const imagesDirectory = await buildSignedImage(say);
  const image = await readDemoImage(imagesDirectory);
  lab = await startLab({
    nodes: [{ name: 'node0', firmware: 'uefi', bmc: 'redfish', boot: 'vmedia', tpm: true, secureBoot: 'microsoft' }],
    conductorSettings: { BATON_ATTESTATION: 'require' },
    imagesDirectory,
    report: say,
  });
  const running = lab;
  outcomes = await deployOnEach(running, (node, reporting) => deployAndProve(running, node, image, reporting), say);
});
afterAll(() => lab?.close());

test('every proof of a deploy holds, and that the ramdisk was the one that was served', async () => {
  const { flow, proofs } = reportOf(outcomes, 'node0');
  const [node] = lab?.nodes ?? [];
  if (!lab || !node) throw new Error('there is no lab');
  const all = [...proofs, ...(await proveTrust(lab, node, flow))];
  expect(all.filter((proof) => !proof.holds)).toEqual([]);
  expect(all).toHaveLength(8 + 3);
});
