import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { PowerInterface } from '#conductor/drivers/interfaces.ts';

/** One machine with a power interface in front of it, powered off. */
interface PowerSubject {
  readonly power: PowerInterface;
  /** Reads whether the machine is on, past the BMC. */
  readonly isOn: () => boolean | Promise<boolean>;
  close?(): Promise<void>;
}

export interface PowerContract {
  readonly name: string;
  make(): Promise<PowerSubject>;
  /** Case → why this implementation can't do it; printed with the case. */
  readonly skip?: Readonly<Partial<Record<PowerCase, string>>>;
}

const powerCases = [
  'reads power off',
  'powers on',
  'powers off',
  'is content with a state that is already there',
  'reboots a machine that is on',
  'reboots a machine that is off into on',
  'soft power off',
  'soft rebooting',
  'presses the power button',
  'stops when the caller aborts',
] as const;
type PowerCase = (typeof powerCases)[number];

/** Tests what every power interface must do, whatever the BMC; run by each implementation. */
export function powerContract(contract: PowerContract): void {
  let subject: PowerSubject;
  const it = (name: PowerCase, body: (subject: PowerSubject) => Promise<void>): void => {
    const reason = contract.skip?.[name];
    const title = reason === undefined ? name : `${name} (skipped: ${reason})`;
    if (reason !== undefined) console.info(`${contract.name}: ${title}`);
    // oxlint-disable-next-line vitest/valid-title -- a string, put together above
    test.skipIf(reason !== undefined)(title, async () => {
      expect.hasAssertions();
      await body(subject);
    });
  };
  describe(`power contract: ${contract.name}`, () => {
    beforeEach(async () => {
      subject = await contract.make();
    });
    afterEach(async () => {
      await subject.close?.();
    });

    it('reads power off', async ({ power }) => {
      expect(await power.getPowerState()).toBe('power off');
    });

    it('powers on', async ({ power, isOn }) => {
      await power.setPowerState('power on');
      expect(await power.getPowerState()).toBe('power on');
      expect(await isOn()).toBe(true);
    });

    it('powers off', async ({ power, isOn }) => {
      await power.setPowerState('power on');
      await power.setPowerState('power off');
      expect(await power.getPowerState()).toBe('power off');
      expect(await isOn()).toBe(false);
    });

    it('is content with a state that is already there', async ({ power, isOn }) => {
      await power.setPowerState('power off');
      await power.setPowerState('soft power off');
      expect(await isOn()).toBe(false);
      await power.setPowerState('power on');
      await power.setPowerState('power on');
      expect(await isOn()).toBe(true);
    });

    it('reboots a machine that is on', async ({ power, isOn }) => {
      await power.setPowerState('power on');
      await power.setPowerState('rebooting');
      expect(await power.getPowerState()).toBe('power on');
      expect(await isOn()).toBe(true);
    });

    it('reboots a machine that is off into on', async ({ power, isOn }) => {
      await power.setPowerState('rebooting');
      expect(await isOn()).toBe(true);
    });

    it('soft power off', async ({ power, isOn }) => {
      await power.setPowerState('power on');
      await power.setPowerState('soft power off');
      expect(await isOn()).toBe(false);
    });

    it('soft rebooting', async ({ power, isOn }) => {
      await power.setPowerState('power on');
      await power.setPowerState('soft rebooting');
      expect(await isOn()).toBe(true);
    });

    it('presses the power button', async ({ power, isOn }) => {
      await power.setPowerState('power on');
      await power.pressPowerButton?.();
      await expect.poll(() => isOn()).toBe(false);
    });

    it('stops when the caller aborts', async ({ power }) => {
      await expect(power.setPowerState('power on', { signal: AbortSignal.abort() })).rejects.toMatchObject({
        code: 'aborted',
      });
    });
  });
}
