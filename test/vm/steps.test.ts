import { randomUUID } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FlowView } from '#conductor/api/flows.ts';
import { buildCustomRamdisk } from '#test/lab/custom-ramdisk.ts';
import { deployEnrolled } from '#test/lab/deploy-and-prove.ts';
import { reportSteps } from '#test/lab/deploy-on-each.ts';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, type LabNode, startLab } from '#test/lab/lab.ts';
import {
  type DemoImage,
  enrollNode,
  getFlow,
  getNode,
  noteInstance,
  readDemoImage,
  requestDeploy,
  waitForState,
} from '#test/lab/operator.ts';
import { say } from '#test/support/say.ts';

/** A machine whose deploy fails at a step, and which is then deployed with a step that asks for a reboot. */
const words = 'the firmware of the left fan is too old';
const instanceUuid = randomUUID();
const failLimitMs = 14 * 60_000;
const scriptStep = (step: string, priority: number, args = {}) => ({ interface: 'deploy', step, priority, args });

let lab: Lab | undefined;
let image: DemoImage;

beforeAll(async () => {
  image = await readDemoImage();
  const ramdiskDirectory = await buildCustomRamdisk('ramdisk-trials', ['test/vm/custom-steps'], say);
  lab = await startLab({ nodes: [{ firmware: 'uefi', bmc: 'redfish' }], report: say, ramdiskDirectory });
  await enrollNode(lab, rig().node);
});
afterAll(() => lab?.close());

test('a step that fails: the reason is told, the machine is off and isolated, its logs are kept', async () => {
  const { running, node } = rig();
  await noteInstance(running, node, image, instanceUuid);
  await requestDeploy(running, node, {
    hostName: 'never',
    instanceUuid,
    deploySteps: [scriptStep('fail_on_purpose', 85, { words })],
  });
  await orDiagnosed(waitForState(running, node, 'deploy failed', failLimitMs));

  const { last_error: lastError } = await getNode(running, node);
  expect(lastError).toContain('deploy.fail_on_purpose');
  expect(lastError).toContain(words);
  const flow = await getFlow(running, node);
  expect(statesOf(flow)).toEqual([
    '100 deploy succeeded',
    '85 fail_on_purpose failed',
    '80 write_image skipped',
    '60 prepare_instance_boot skipped',
    '40 tear_down_agent skipped',
    '30 switch_to_tenant_network skipped',
    '20 boot_instance skipped',
    '0 collect_logs succeeded',
    '0 power_off succeeded',
    '0 leave_network succeeded',
  ]);
  expect(node.machine.getPower()).toBe('off');
  expect((await running.network.vsctl('get', 'Port', node.name, 'tag', 'trunks', 'vlan_mode')).split('\n')).toEqual([
    '[]',
    '[4095]',
    'trunk',
    '',
  ]);
  const logs = await request(`${running.conductor.url}/v1/nodes/${node.name}/flow/logs`, { dispatcher: running.gate });
  expect(logs.statusCode).toBe(200);
  expect(logs.headers['x-baton-flow']).toBe(flow?.uuid);
  const archive = gunzipSync(Buffer.from(await logs.body.arrayBuffer())).toString('latin1');
  const { uuid } = await getNode(running, node);
  expect(archive).toContain(`about to fail on node ${uuid}`);
});

test('a step that asks for a reboot: the ramdisk comes back, and the deploy goes on', async () => {
  const { running, node } = rig();
  const boots = node.machine.boots.length;
  const onFlow = reportSteps(node.name, say);
  // after the image: what the agent knew of it has gone with the ramdisk
  const deploySteps = [scriptStep('ask_for_reboot', 75), scriptStep('check_rebooted', 70)];
  const { flow, proofs } = await orDiagnosed(
    deployEnrolled(running, node, image, { onFlow, report: say, deploySteps, instanceUuid }),
  );

  expect(statesOf(flow)).toEqual([
    '100 deploy succeeded',
    '80 write_image succeeded',
    '75 ask_for_reboot succeeded',
    '75 reboot_ramdisk succeeded',
    '70 check_rebooted succeeded',
    '60 prepare_instance_boot succeeded',
    '40 tear_down_agent succeeded',
    '30 switch_to_tenant_network succeeded',
    '20 boot_instance succeeded',
  ]);
  expect(proofs.filter((proof) => !proof.holds)).toEqual([]);
  expect(proofs).toHaveLength(8);
  expect(node.machine.boots.slice(boots).map(([first]) => first)).toEqual(['pxe', 'pxe', 'disk']);
});

function statesOf(flow: FlowView | undefined): string[] {
  return (flow?.steps ?? []).map(({ step, priority, state }) => `${priority} ${step} ${state}`);
}

function rig(): { readonly running: Lab; readonly node: LabNode } {
  const node = lab?.nodes[0];
  if (!lab || !node) throw new Error('there is no lab');
  return { running: lab, node };
}

async function orDiagnosed<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    say(labDiagnostics(rig().running, 60));
    throw error;
  }
}
