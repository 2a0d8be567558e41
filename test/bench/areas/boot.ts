import { randomUUID } from 'node:crypto';
import { AppError } from '#shared/errors/app-error.ts';
import { type Area, type Figure, round } from '#test/bench/area.ts';
import { type Lab, startLab } from '#test/lab/lab.ts';
import {
  enrollNode,
  getFlow,
  noteInstance,
  provision,
  readDemoImage,
  requestDeploy,
  waitForState,
} from '#test/lab/operator.ts';
import { waitForBeacon } from '#test/lab/proofs/beacon.ts';

const deployLimitMs = 25 * 60_000;

/** From a deploy's power-on to the beacon of the machine's own system, with a second start of the firmware and by kexec. */
export const bootArea: Area = {
  name: 'boot',
  measure: async (context) => {
    const lab = await startLab({ nodes: [machine, machine] });
    try {
      const reboot = await powerOnToBeacon(lab, 0, 'reboot');
      const kexec = await powerOnToBeacon(lab, 1, 'kexec');
      context.say(`${machine.firmware}, ${lab.accelerator.kind}: ${JSON.stringify({ reboot, kexec })}`);
      const ratio = (part: keyof Took): Figure => ({
        value: round(kexec[part] / reboot[part], 2),
        unit: `of ${round(reboot[part])} s`,
      });
      const figures = { kexec_ratio: ratio('whole'), kexec_last_part_ratio: ratio('lastPart') };
      await lab.close();
      return { ...figures, attest_s: await attestSeconds(context.say) };
    } finally {
      await lab.close();
    }
  },
};

/** Seconds that a boot into the ramdisk takes longer where a TPM is measured into and asked, beside the same without. */
async function attestSeconds(say: (line: string) => void): Promise<Figure> {
  const attesting = { ...machine, boot: 'vmedia' } as const;
  const lab = await startLab({
    nodes: [attesting, { ...attesting, tpm: true }],
    conductorSettings: { BATON_ATTESTATION: 'record' },
  });
  try {
    const without = await powerOnToRamdisk(lab, 0);
    const attested = await powerOnToRamdisk(lab, 1);
    say(`power-on to the agent's first step: ${round(without)} s, ${round(attested)} s with a TPM`);
    return { value: round(attested - without, 2), unit: `s beside ${round(without)} s` };
  } finally {
    await lab.close();
  }
}

async function powerOnToRamdisk(lab: Lab, index: number): Promise<number> {
  const node = lab.nodes[index];
  if (!node) throw new AppError('internal', 'the lab lacks a machine');
  await enrollNode(lab, node);
  await provision(lab, node, 'manage');
  await waitForState(lab, node, 'manageable');
  let poweredOn = Number.NaN;
  node.machine.onPowerOn(async (order) => {
    if (order[0] === 'cdrom') poweredOn = Date.now();
  });
  await provision(lab, node, 'clean', { clean_steps: [{ interface: 'deploy', step: 'erase_devices_metadata' }] });
  await waitForState(lab, node, 'manageable', deployLimitMs);
  const begun = (await getFlow(lab, node))?.steps.find(({ step }) => step === 'erase_devices_metadata')?.started_at;
  return (Date.parse(begun ?? '') - poweredOn) / 1000;
}

const machine = { firmware: 'uefi', bmc: 'redfish' } as const;

/** Seconds. */
interface Took {
  readonly whole: number;
  /** From the step that parts with the ramdisk on: what was before is the same. */
  readonly lastPart: number;
}

async function powerOnToBeacon(lab: Lab, index: number, deployBoot: string): Promise<Took> {
  const node = lab.nodes[index];
  if (!node) throw new AppError('internal', 'the lab lacks a machine');
  await enrollNode(lab, node);
  const instanceUuid = randomUUID();
  await noteInstance(
    lab,
    node,
    { ...(await readDemoImage()), instanceInfo: { deploy_boot: deployBoot } },
    instanceUuid,
  );
  let poweredOn = Number.NaN;
  node.machine.onPowerOn(async (order) => {
    if (order[0] === 'pxe') poweredOn = Date.now();
  });
  await requestDeploy(lab, node, { hostName: 'bench', instanceUuid });
  await waitForBeacon(lab, node, deployLimitMs);
  const ended = Date.now();
  const parting = (await getFlow(lab, node))?.steps.find(({ step }) => step === 'tear_down_agent')?.started_at ?? '';
  // nothing of it runs beside the next one
  await node.machine.setPower('off');
  return { whole: (ended - poweredOn) / 1000, lastPart: (ended - Date.parse(parting)) / 1000 };
}
