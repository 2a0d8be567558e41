import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { BootDeviceSetting, ManagementInterface, PowerInterface } from '#conductor/drivers/interfaces.ts';
import type { BootDevice } from '#conductor/model/power-and-boot.ts';

/** One machine with a management interface in front of it, powered off, without a boot override. */
interface ManagementSubject {
  readonly management: ManagementInterface;
  readonly power: PowerInterface;
  close?(): Promise<void>;
}

export interface ManagementContract {
  readonly name: string;
  make(): Promise<ManagementSubject>;
  /** Boot devices to try; what the simulator behind the driver can keep. Default: all that the driver supports. */
  readonly bootDevices?: readonly BootDevice[];
  /** Setting where nobody has said what it boots from; default: unknown. */
  readonly atFirst?: BootDeviceSetting;
  /** Case → why this implementation can't do it; printed with the case. */
  readonly skip?: Readonly<Partial<Record<ManagementCase, string>>>;
}

const managementCases = [
  'knows no boot device at first, or its own',
  'sets each boot device for the next boot',
  'sets a persistent boot device',
  'the last one set wins',
  'forgets a device for one boot after that boot',
  'keeps a persistent device over a boot',
  'sets the boot mode along',
  'refuses what it does not support',
] as const;
type ManagementCase = (typeof managementCases)[number];

const nothing: BootDeviceSetting = { bootDevice: undefined, persistent: undefined };

/** Tests what every management interface must do, whatever the BMC; run by each implementation. */
export function managementContract(contract: ManagementContract): void {
  let subject: ManagementSubject;
  const it = (name: ManagementCase, body: (subject: ManagementSubject) => Promise<void>): void => {
    const reason = contract.skip?.[name];
    const title = reason === undefined ? name : `${name} (skipped: ${reason})`;
    if (reason !== undefined) console.info(`${contract.name}: ${title}`);
    // oxlint-disable-next-line vitest/valid-title -- a string, put together above
    test.skipIf(reason !== undefined)(title, async () => {
      expect.hasAssertions();
      await body(subject);
    });
  };
  const devices = (management: ManagementInterface): readonly BootDevice[] =>
    contract.bootDevices ?? management.supportedBootDevices;

  describe(`management contract: ${contract.name}`, () => {
    beforeEach(async () => {
      subject = await contract.make();
    });
    afterEach(async () => {
      await subject.close?.();
    });

    it('knows no boot device at first, or its own', async ({ management }) => {
      expect(await management.getBootDevice()).toEqual(contract.atFirst ?? nothing);
    });

    it('sets each boot device for the next boot', async ({ management }) => {
      for (const bootDevice of devices(management)) {
        await management.setBootDevice(bootDevice, { persistent: false });
        expect(await management.getBootDevice()).toEqual({ bootDevice, persistent: false });
      }
    });

    it('sets a persistent boot device', async ({ management }) => {
      await management.setBootDevice('disk', { persistent: true });
      expect(await management.getBootDevice()).toEqual({ bootDevice: 'disk', persistent: true });
    });

    it('the last one set wins', async ({ management }) => {
      await management.setBootDevice('disk', { persistent: true });
      await management.setBootDevice('pxe', { persistent: false });
      expect(await management.getBootDevice()).toEqual({ bootDevice: 'pxe', persistent: false });
    });

    it('forgets a device for one boot after that boot', async ({ management, power }) => {
      await management.setBootDevice('pxe', { persistent: false });
      await power.setPowerState('power on');
      expect(await management.getBootDevice()).toEqual(contract.atFirst ?? nothing);
    });

    it('keeps a persistent device over a boot', async ({ management, power }) => {
      await management.setBootDevice('pxe', { persistent: true });
      await power.setPowerState('power on');
      expect(await management.getBootDevice()).toEqual({ bootDevice: 'pxe', persistent: true });
    });

    it('sets the boot mode along', async ({ management }) => {
      for (const bootMode of ['bios', 'uefi'] as const) {
        await management.setBootDevice('pxe', { persistent: false, bootMode });
        expect(await management.getBootMode?.()).toBe(bootMode);
      }
    });

    it('refuses what it does not support', async ({ management }) => {
      const refused = (['safe'] as const).filter((device) => !management.supportedBootDevices.includes(device));
      for (const device of refused) {
        await expect(management.setBootDevice(device, { persistent: false })).rejects.toMatchObject({
          code: 'not_supported',
        });
      }
      expect(management.supportedBootDevices).toContain('pxe');
    });
  });
}
