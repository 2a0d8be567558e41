import { randomUUID } from 'node:crypto';
import { AppError } from '#shared/errors/app-error.ts';
import { type Area, round } from '#test/bench/area.ts';
import { type Lab, startLab } from '#test/lab/lab.ts';
import { enrollNode, noteInstance, readDemoImage, requestDeploy } from '#test/lab/operator.ts';
import { waitForBeacon } from '#test/lab/proofs/beacon.ts';

const deployLimitMs = 25 * 60_000;

/** From a deploy's power-on to the beacon of the machine's own system, with a second start of the firmware and by kexec. */
export const bootArea: Area = {
  name: 'boot',
  measure: async (context) => {
    const lab = await startLab({ nodes: [machine, machine] });
    try {
      const seconds = [];
      for (const [index, deployBoot] of ['reboot', 'kexec'].entries()) {
        const took = round(await powerOnToBeacon(lab, index, deployBoot));
        context.say(`${machine.firmware}, ${lab.accelerator.kind}, ${deployBoot}: beacon ${took} s after power-on`);
        seconds.push(took);
      }
      const [reboot = Number.NaN, kexec = Number.NaN] = seconds;
      return {
        reboot_s: { value: reboot, unit: 's' },
        kexec_s: { value: kexec, unit: 's' },
        kexec_ratio: { value: round(kexec / reboot, 2), unit: 'of reboot_s' },
      };
    } finally {
      await lab.close();
    }
  },
};

const machine = { firmware: 'uefi', bmc: 'redfish' } as const;

async function powerOnToBeacon(lab: Lab, index: number, deployBoot: string): Promise<number> {
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
    if (order[0] === 'pxe') poweredOn = performance.now();
  });
  await requestDeploy(lab, node, { hostName: 'bench', instanceUuid });
  await waitForBeacon(lab, node, deployLimitMs);
  const ended = performance.now();
  // nothing of it runs beside the next one
  await node.machine.setPower('off');
  return (ended - poweredOn) / 1000;
}
