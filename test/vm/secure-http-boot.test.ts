import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { NodeTpmAnswer } from '#conductor/api/attestation.ts';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, startLab } from '#test/lab/lab.ts';
import { enrollNode, provision, waitForState } from '#test/lab/operator.ts';

/** A machine with Secure Boot by Microsoft's keys, whose firmware loads the ramdisk by HTTP itself. */

let lab: Lab | undefined;

beforeAll(async () => {
  lab = await startLab({
    nodes: [{ firmware: 'uefi', bmc: 'redfish', boot: 'http', tpm: true, secureBoot: 'microsoft' }],
    conductorSettings: { BATON_ATTESTATION: 'require' },
  });
});
afterEach((context) => {
  if (context.task.result?.state === 'fail' && lab) process.stdout.write(`${labDiagnostics(lab, 60)}\n`);
});
afterAll(() => lab?.close());

test('what it has loaded is trusted, and works', async () => {
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
  expect(readFileSync(node.machine.serialLog, 'latin1')).toContain('Start HTTP Boot over IPv4');
});
