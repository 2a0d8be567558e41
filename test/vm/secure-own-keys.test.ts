import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { NodeTpmAnswer } from '#conductor/api/attestation.ts';
import { buildSignedRamdisk } from '#test/lab/custom-ramdisk.ts';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, startLab } from '#test/lab/lab.ts';
import { enrollNode, provision, waitForState } from '#test/lab/operator.ts';
import { say } from '#test/support/say.ts';

/** A machine that knows its owner's key alone, and a ramdisk whose loader that key has signed, by virtual media. */

let lab: Lab | undefined;

beforeAll(async () => {
  lab = await startLab({
    nodes: [{ firmware: 'uefi', bmc: 'redfish', boot: 'vmedia', tpm: true, secureBoot: 'own' }],
    conductorSettings: { BATON_ATTESTATION: 'require' },
    ramdiskDirectory: await buildSignedRamdisk(say),
  });
});
afterEach((context) => {
  if (context.task.result?.state === 'fail' && lab) process.stdout.write(`${labDiagnostics(lab, 60)}\n`);
});
afterAll(() => lab?.close());

test('what its key has signed is trusted, and works', async () => {
  const [node] = lab?.nodes ?? [];
  if (!lab || !node) throw new Error('there is no lab');
  await enrollNode(lab, node);
  await provision(lab, node, 'manage');
  await waitForState(lab, node, 'manageable');
  await provision(lab, node, 'clean', { clean_steps: [{ interface: 'deploy', step: 'erase_devices_metadata' }] });
  await waitForState(lab, node, 'manageable', 14 * 60_000);
  const { verdict, reasons, boot } = await lab.api.call<NodeTpmAnswer>('GET', `/v1/nodes/${node.name}/tpm`);
  expect({ verdict, reasons, secureBoot: boot?.secure_boot }).toEqual({
    verdict: 'trusted',
    reasons: [],
    secureBoot: true,
  });
});
