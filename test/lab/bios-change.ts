import { join } from 'node:path';
import { request } from 'undici';
import { z } from 'zod';
import type { Lab, LabNode } from '#test/lab/lab.ts';
import type { RequestedDeployStep } from '#test/lab/operator.ts';
import { lookBeforeBoot } from '#test/lab/proofs/look-before-boot.ts';
import type { Proof } from '#test/lab/proofs/proof.ts';
import { storedEfiVariable } from '#test/lab/proofs/stored-efi-variable.ts';

/** A change of BIOS settings as a step of a deploy, and where to look whether it has come into force. */
export interface BiosChange {
  readonly step: RequestedDeployStep;
  /** After the deploy. */
  readonly prove: () => Promise<Proof>;
}

/** The one that suits the machine's BMC and firmware; `undefined` where neither has any settings. */
export function biosChangeFor(lab: Lab, node: LabNode): BiosChange | undefined {
  if (node.bmc.driver === 'redfish') return redfishChange(lab, node);
  return node.machine.firmware === 'uefi' ? efiChange(lab, node) : undefined;
}

const redfishSettings = [
  { name: 'SysProfile', value: 'Performance' },
  { name: 'NumCores', value: 4 },
] as const;
const Bios = z.looseObject({ Attributes: z.record(z.string(), z.unknown()) });

/** By the BMC, above 100: the machine has its new settings before the ramdisk boots. */
function redfishChange(lab: Lab, { bmc }: LabNode): BiosChange {
  const { redfish_address: address, redfish_username: user, redfish_password: password } = bmc.driverInfo;
  return {
    step: biosStep(110, redfishSettings),
    prove: async () => {
      const response = await request(`${address}/redfish/v1/Systems/1/Bios`, {
        dispatcher: lab.gate,
        headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` },
      });
      const { Attributes: inForce } = Bios.parse(await response.body.json());
      return {
        what: 'BIOS settings in force, as the BMC shows them',
        holds: redfishSettings.every(({ name, value }) => inForce[name] === value),
        seen: redfishSettings.map(({ name }) => `${name} = ${String(inForce[name])}`).join(', '),
      };
    },
  };
}

const bootTimeout = 7;

/** By the agent; looked at before the next boot, when OVMF takes its timeout from QEMU again, as no other firmware does. */
export function efiChange(lab: Lab, node: LabNode): BiosChange {
  const flash = join(lab.directory.path, `${node.name}-variables.fd`);
  const stored = lookBeforeBoot(node.machine, () => storedEfiVariable(flash, 'Timeout')?.readUInt16LE());
  return {
    step: biosStep(85, [{ name: 'efi.boot_timeout', value: bootTimeout }]),
    prove: async () => ({
      what: 'BIOS setting in the flash of the firmware',
      holds: (await stored()) === bootTimeout,
      seen: `Timeout = ${await stored()}`,
    }),
  };
}

function biosStep(priority: number, settings: readonly object[]): RequestedDeployStep {
  return { interface: 'bios', step: 'apply_configuration', priority, args: { settings } };
}
