import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deployAndProve } from '#test/lab/deploy-and-prove.ts';
import { type DeployOutcomes, deployOnEach, reportOf } from '#test/lab/deploy-on-each.ts';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, startLab } from '#test/lab/lab.ts';
import { provision, readDemoImage, waitForState } from '#test/lab/operator.ts';
import { lookAtDisk } from '#test/lab/redeploy/look-at-disk.ts';
import { proveReceipt } from '#test/lab/redeploy/prove-receipt.ts';
import { say } from '#test/support/say.ts';

/** A machine's whole life under BIOS behind IPMI: deployed onto the tenant's network, undeployed, wiped, with a receipt. */

const instanceUuid = randomUUID();
let lab: Lab | undefined;
let outcomes: DeployOutcomes = new Map();

beforeAll(async () => {
  const image = await readDemoImage();
  lab = await startLab({ nodes: [{ name: 'node0', firmware: 'bios', bmc: 'ipmi' }], report: say });
  const running = lab;
  const deploy = (node: Lab['nodes'][number], reporting: object) =>
    deployAndProve(running, node, image, { ...reporting, instanceUuid });
  outcomes = await deployOnEach(running, deploy, say);
});

afterAll(() => lab?.close());

test('becomes active, each step of the deploy in its turn', () => {
  const { flow } = reportOf(outcomes, 'node0');
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
  const { proofs } = reportOf(outcomes, 'node0');
  expect(proofs.filter((proof) => !proof.holds)).toEqual([]);
  expect(proofs).toHaveLength(8);
});

test('undeployed, nothing is left on its disk, a receipt proves it, and it is available again', async () => {
  reportOf(outcomes, 'node0');
  const node = lab?.nodes[0];
  if (!lab || !node) throw new Error('there is no lab');
  const disk = node.machine.diskFiles[0] ?? '';
  // else its absence later would prove nothing
  expect(await lookAtDisk(disk, [instanceUuid])).toMatchObject({ found: [instanceUuid], isZero: false });
  await provision(lab, node, 'deleted', { wipe: { preserve_local_storage: false } });
  try {
    const view = await waitForState(lab, node, 'available', 30 * 60_000);
    expect(view.instance_uuid).toBeNull();
  } catch (error) {
    say(labDiagnostics(lab, 60));
    throw error;
  }
  expect(node.machine.getPower()).toBe('off');
  expect(await lookAtDisk(disk, [instanceUuid])).toMatchObject({ found: [], isZero: true });
  const proofs = await proveReceipt(lab, node, { preserve: false, count: 1, show: say });
  expect(proofs.filter((proof) => !proof.holds)).toEqual([]);
  expect(proofs).toHaveLength(3);
});
