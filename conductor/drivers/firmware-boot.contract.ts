import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Bmc } from '#conductor/drivers/interfaces.ts';

type FirmwareBootSubject = Pick<Bmc, 'firmwareBoot'> & { close?(): Promise<void> };

/** Tests what every firmware boot interface must do, whatever the BMC; run by each implementation. */
export function firmwareBootContract(contract: {
  readonly name: string;
  make(): Promise<FirmwareBootSubject>;
  /** Abilities of this BMC; default both. */
  readonly has?: readonly ('boot mode' | 'secure boot')[];
}): void {
  const { has = ['boot mode', 'secure boot'] } = contract;
  let subject: FirmwareBootSubject;

  describe(`firmware boot contract: ${contract.name}`, () => {
    beforeEach(async () => {
      subject = await contract.make();
    });
    afterEach(async () => {
      await subject.close?.();
    });

    test.runIf(has.length === 2)('sets the boot mode and leaves secure boot', async () => {
      await subject.firmwareBoot?.setSecureBoot(true);
      for (const bootMode of ['bios', 'uefi', 'uefi'] as const) {
        await subject.firmwareBoot?.setBootMode(bootMode);
        expect(await subject.firmwareBoot?.read()).toEqual({ bootMode, secureBoot: true });
      }
    });

    test.runIf(has.includes('secure boot'))('switches secure boot', async () => {
      for (const secureBoot of [true, false, false]) {
        await subject.firmwareBoot?.setSecureBoot(secureBoot);
        expect(await subject.firmwareBoot?.read()).toMatchObject({ secureBoot });
      }
    });

    test.runIf(has.length < 2)('what the BMC does not report is not known', async () => {
      const read = await subject.firmwareBoot?.read();
      expect(read?.bootMode === undefined).toBe(!has.includes('boot mode'));
      expect(read?.secureBoot === undefined).toBe(!has.includes('secure boot'));
    });
  });
}
