import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FlowView } from '#conductor/api/flows.ts';
import { Progress } from '#shared/wire/progress.ts';
import { efiChange } from '#test/lab/bios-change.ts';
import { buildCustomRamdisk } from '#test/lab/custom-ramdisk.ts';
import { type DeployOutcomes, deployOnEach, reportOf } from '#test/lab/deploy-on-each.ts';
import { customSteps, deployOntoRaid1, raid1Disks } from '#test/lab/deploy-onto-raid1.ts';
import { type Lab, startLab } from '#test/lab/lab.ts';
import { readDemoImage } from '#test/lab/operator.ts';
import { say } from '#test/support/say.ts';

/**
 * One machine shows as much of a deploy under UEFI as it can: software RAID 1, BIOS settings by EFI variables, a
 * conductor that is killed amid the image, a step of one's own, and the system's boot with a disk pulled.
 */

let lab: Lab | undefined;
let outcomes: DeployOutcomes = new Map();
let crash: { readonly amid: FlowView; readonly over: Promise<void> } | undefined;

beforeAll(async () => {
  const image = await readDemoImage();
  const ramdiskDirectory = await buildCustomRamdisk('ramdisk-raid1', [customSteps], say);
  lab = await startLab({
    nodes: [{ name: 'node0', firmware: 'uefi', bmc: 'redfish', disks: raid1Disks }],
    report: say,
    ramdiskDirectory,
  });
  const running = lab;
  outcomes = await deployOnEach(
    running,
    async (node, { onFlow, report }) => {
      const deployed = await deployOntoRaid1(running, node, image, {
        report,
        onFlow: (flow) => {
          onFlow(flow);
          if (isWriting(flow)) crash ??= { amid: flow, over: killAndRestart(running) };
        },
        biosChanges: [efiChange(running, node)],
        pulled: [0],
      });
      await crash?.over;
      return deployed;
    },
    say,
  );
});

afterAll(() => lab?.close());

const imageStep = ({ steps }: FlowView) => steps.find(({ step }) => step === 'write_image');

/** The agent has said that some of the image has come, and so that the rest is on its way. */
function isWriting(flow: FlowView): boolean {
  const step = imageStep(flow);
  const { done_bytes: done = 0, total_bytes: total = 0 } = Progress.safeParse(step?.progress).data ?? {};
  return step?.ended_at === null && done > 0 && done < total;
}

async function killAndRestart({ conductor }: Lab): Promise<void> {
  say('the conductor is killed');
  await conductor.kill();
  await conductor.restart();
  say('the conductor is back');
}

test('each step in its turn, though the conductor was killed amid the image', () => {
  const { flow } = reportOf(outcomes, 'node0');
  expect(flow.steps.map(({ step, priority, state }) => `${priority} ${step} ${state}`)).toEqual([
    '100 deploy succeeded',
    '90 apply_configuration succeeded',
    '85 apply_configuration succeeded',
    '80 write_image succeeded',
    '70 write_motd succeeded',
    '60 prepare_instance_boot succeeded',
    '40 tear_down_agent succeeded',
    '30 switch_to_tenant_network succeeded',
    '20 boot_instance succeeded',
  ]);
  expect(crash?.amid).toMatchObject({ uuid: flow.uuid, ended_at: null });
  // begun before the crash, ended after it, and not begun again
  expect(imageStep(flow)?.started_at).toBe(crash && imageStep(crash.amid)?.started_at);
});

test('every proof holds: both disks, identity, network, BIOS setting, the boot with a disk pulled', () => {
  const { proofs } = reportOf(outcomes, 'node0');
  expect(proofs.filter((proof) => !proof.holds)).toEqual([]);
  // of the disks, identity, network, the BIOS setting, the boot
  expect(proofs).toHaveLength(3 + 2 + 3 + 1 + 1);
});
