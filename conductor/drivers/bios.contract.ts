import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { BiosInterface, PowerInterface } from '#conductor/drivers/interfaces.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

/** One machine with BIOS settings, powered off, all settings at their defaults. */
interface BiosSubject {
  readonly bios?: BiosInterface;
  readonly power: PowerInterface;
  close?(): Promise<void>;
}

/** A setting of the machine, its default and another legal value, as text. */
interface SampleSetting {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

export interface BiosContract {
  readonly name: string;
  make(): Promise<BiosSubject>;
  readonly enumeration: SampleSetting & { readonly illegal: string };
  readonly integer: SampleSetting;
  readonly boolean: SampleSetting;
  /** Case → why this implementation can't do it; printed with the case. */
  readonly skip?: Readonly<Partial<Record<BiosCase, string>>>;
}

const biosCases = [
  'lists settings with what is known of them',
  'a value takes effect at the next reset',
  'values of every type at once',
  'asking twice is as good as once',
  'a value that is there already does not wait',
  'refuses what can not be, and then changes nothing',
  'resets to defaults at the next reset',
] as const;
type BiosCase = (typeof biosCases)[number];

/** Tests what every BIOS interface must do, whatever the BMC; run by each implementation. */
export function biosContract(contract: BiosContract): void {
  const { enumeration, integer, boolean } = contract;
  let subject: BiosSubject;
  const it = (name: BiosCase, body: (bios: BiosInterface, power: PowerInterface) => Promise<void>): void => {
    const reason = contract.skip?.[name];
    const title = reason === undefined ? name : `${name} (skipped: ${reason})`;
    if (reason !== undefined) console.info(`${contract.name}: ${title}`);
    // oxlint-disable-next-line vitest/valid-title -- a string, put together above
    test.skipIf(reason !== undefined)(title, async () => {
      expect.hasAssertions();
      if (!subject.bios) throw new AppError('internal', `${contract.name} has no BIOS interface`);
      await body(subject.bios, subject.power);
    });
  };
  const valueOf = async (bios: BiosInterface, name: string) => (await bios.getProgress()).values.get(name);
  const wanted = ({ name, to }: SampleSetting) => ({ name, value: to });

  describe(`BIOS contract: ${contract.name}`, () => {
    beforeEach(async () => {
      subject = await contract.make();
    });
    afterEach(async () => {
      await subject.close?.();
    });

    it('lists settings with what is known of them', async (bios) => {
      const settings = await bios.getSettings();
      const found = settings.find((setting) => setting.name === enumeration.name);
      expect(found).toMatchObject({ value: enumeration.from, attribute_type: 'Enumeration', read_only: false });
      expect(found?.allowable_values).toEqual(expect.arrayContaining([enumeration.from, enumeration.to]));
      expect(settings.find((setting) => setting.name === integer.name)).toMatchObject({ attribute_type: 'Integer' });
    });

    it('a value takes effect at the next reset', async (bios, power) => {
      await power.setPowerState('power on');
      await bios.applySettings([wanted(enumeration)]);
      expect(await valueOf(bios, enumeration.name)).toBe(enumeration.from);
      expect((await bios.getProgress()).pending).toEqual([wanted(enumeration)]);
      await power.setPowerState('rebooting');
      expect(await bios.getProgress()).toMatchObject({ pending: [], failures: [] });
      expect(await valueOf(bios, enumeration.name)).toBe(enumeration.to);
    });

    it('values of every type at once', async (bios, power) => {
      const samples = [enumeration, integer, boolean];
      await bios.applySettings(samples.map(wanted));
      await power.setPowerState('power on');
      const { values } = await bios.getProgress();
      expect(samples.map(({ name }) => values.get(name))).toEqual(samples.map(({ to }) => to));
    });

    it('asking twice is as good as once', async (bios, power) => {
      await bios.applySettings([wanted(integer)]);
      await bios.applySettings([wanted(integer)]);
      expect((await bios.getProgress()).pending).toEqual([wanted(integer)]);
      await power.setPowerState('power on');
      expect(await valueOf(bios, integer.name)).toBe(integer.to);
    });

    it('a value that is there already does not wait', async (bios) => {
      await bios.applySettings([{ name: enumeration.name, value: enumeration.from }]);
      expect((await bios.getProgress()).pending).toEqual([]);
    });

    it('refuses what can not be, and then changes nothing', async (bios, power) => {
      const illegal = [wanted(integer), { name: enumeration.name, value: enumeration.illegal }];
      const failure: unknown = await bios.applySettings(illegal).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'bmc_error' });
      expect(errorChain(failure)).toContain(enumeration.name);
      await expect(bios.applySettings([{ name: 'NoSuchSetting', value: 'x' }])).rejects.toMatchObject({
        code: 'bmc_error',
      });
      await power.setPowerState('power on');
      expect(await valueOf(bios, integer.name)).toBe(integer.from);
    });

    it('resets to defaults at the next reset', async (bios, power) => {
      await bios.applySettings([wanted(enumeration)]);
      await power.setPowerState('power on');
      await bios.factoryReset();
      expect(await valueOf(bios, enumeration.name)).toBe(enumeration.to);
      expect((await bios.getProgress()).defaultsPending).toBe(true);
      await power.setPowerState('rebooting');
      expect(await valueOf(bios, enumeration.name)).toBe(enumeration.from);
      expect((await bios.getProgress()).defaultsPending).toBe(false);
    });
  });
}
