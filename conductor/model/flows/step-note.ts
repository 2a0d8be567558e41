import { z } from 'zod';
import { nameSome } from '#shared/words.ts';

const Left = z.object({ left_to: z.string(), asked: z.string() });
const version = z.string().nullable();
const Firmware = z.object({ firmware: z.array(z.object({ component: z.string(), before: version, after: version })) });
const Sensors = z.object({
  sensors: z.array(
    z.object({
      name: z.string(),
      value: z.number().nullable(),
      unit: z.string().nullable(),
      health: z.string().nullable(),
    }),
  ),
});

const Warned = z.object({ warnings: z.array(z.string()).min(1) });

/**
 * Describes for operators what has come of a step beside its success; `undefined` where that is nothing. Pure.
 * @param isBroken its flow has failed or was aborted: nothing more comes of it
 */
export function describeOutput(output: unknown, isBroken = false): string | undefined {
  const boot = describeDeployBoot(output);
  if (boot !== undefined) return boot;
  const left = Left.safeParse(output).data;
  if (left) return (isBroken ? describeLost(output) : undefined) ?? `by the reset of ${left.left_to}`;
  const firmware = Firmware.safeParse(output).data?.firmware.map(
    ({ component, before, after }) => `${component} ${before ?? 'unknown'} → ${after ?? 'unknown'}`,
  );
  if (firmware) return nameSome(firmware, 5);
  const warned = Warned.safeParse(output).data;
  if (warned) return `warning: ${warned.warnings.join('; ')}`;
  const sensors = Sensors.safeParse(output).data?.sensors;
  if (!sensors) return undefined;
  const bad = sensors.filter(({ health }) => health !== null && health !== 'ok');
  const shown = bad.length === 0 ? 'none of them unwell' : nameSome(bad.map(describeSensor), 5);
  return `${sensors.length} sensors: ${shown}`;
}

/** Returns whether a step has left its reset to a later one, and its settings are not known to hold. Pure. */
export function awaitsReset(output: unknown): boolean {
  const left = Left.safeParse(output).data;
  return left !== undefined && left.asked !== 'held';
}

/**
 * Describes where BIOS settings are whose flow broke off before they were known to hold; `undefined` for all other
 * steps. Pure.
 */
export function describeLost(output: unknown): string | undefined {
  const left = Left.safeParse(output).data;
  if (!left || !awaitsReset(output)) return undefined;
  return left.asked === 'left'
    ? `its settings wait at the BMC for the next reset, which ${left.left_to} did not make`
    : `by the reset of ${left.left_to}; its settings are not known to hold`;
}

/** Writes `CPU 1 Temp is warning (92.5 Cel)` */
export function describeSensor(sensor: z.infer<typeof Sensors>['sensors'][number]): string {
  const { name, value, unit, health } = sensor;
  const reading = value === null ? '' : ` (${value}${unit === null ? '' : ` ${unit}`})`;
  return `${name} is ${health ?? 'of unknown health'}${reading}`;
}

const Boot = z.union([
  z.object({ deploy_boot: z.literal('reboot'), reason: z.string() }),
  z.object({ deploy_boot: z.literal('kexec'), entry: z.string(), kernel: z.string() }),
  z.object({ deploy_boot: z.literal('kexec') }),
  z.object({ ramdisk_boot: z.literal('power'), reason: z.string() }),
  z.object({ ramdisk_boot: z.literal('kexec') }),
]);

/**
 * Describes for operators a step that goes from one system into another, where kexec was asked for; `undefined` for all
 * others. Pure.
 */
export function describeDeployBoot(output: unknown): string | undefined {
  const { data } = Boot.safeParse(output);
  if (!data) return undefined;
  if ('ramdisk_boot' in data) {
    return data.ramdisk_boot === 'kexec' ? 'by kexec from the running system' : `not by kexec: ${data.reason}`;
  }
  if (data.deploy_boot === 'reboot') return `a reboot in place of kexec: ${data.reason}`;
  return 'kernel' in data ? `kexec: ${data.kernel} of "${data.entry}" is loaded` : 'went on by kexec';
}
