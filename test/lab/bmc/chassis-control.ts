import { AppError } from '#shared/errors/app-error.ts';
import type { SimulatedBootDevice, SimulatedMachine } from '#test/simulators/redfish/machine.ts';

/** ipmi_sim's words for boot devices; it says `default` for the disk. */
const bootDevices: ReadonlyMap<string, SimulatedBootDevice> = new Map([
  ['none', 'none'],
  ['pxe', 'pxe'],
  ['default', 'disk'],
  ['cdrom', 'cdrom'],
  ['bios', 'bios'],
]);

/**
 * Does what ipmi_sim asks of its chassis control program: `0x20 get power boot…` is answered with a line
 * `name:value` each, `0x20 set power 1 boot pxe reset 1 shutdown 1` acts. ipmi_sim does not pass on whether a boot
 * device is persistent, so each is for the next boot only, which is what IPMI means without that flag.
 * @throws AppError `not_supported` for what the lab's machines can't.
 */
export async function answerChassisControl(machine: SimulatedMachine, args: readonly string[]): Promise<string> {
  const [, operation, ...rest] = args;
  if (operation === 'get') {
    const lines = await Promise.all(rest.map(async (name) => `${name}:${await read(machine, name)}\n`));
    return lines.join('');
  }
  if (operation !== 'set' || rest.length % 2 !== 0) {
    throw new AppError('not_supported', `chassis control: ${args.join(' ')}`);
  }
  for (let index = 0; index < rest.length; index += 2) await write(machine, rest[index] ?? '', rest[index + 1] ?? '');
  return '';
}

async function read(machine: SimulatedMachine, name: string): Promise<string> {
  if (name === 'power') return (await machine.getPower()) === 'on' ? '1' : '0';
  if (name !== 'boot') throw new AppError('not_supported', `chassis control: get ${name}`);
  const { device } = await machine.getBoot();
  return [...bootDevices].find(([, known]) => known === device)?.[0] ?? 'none';
}

async function write(machine: SimulatedMachine, name: string, value: string): Promise<void> {
  const device = bootDevices.get(value);
  if (name === 'power') await machine.setPower(value === '1' ? 'on' : 'off');
  else if (name === 'reset') await machine.setPower('reset');
  else if (name === 'shutdown') await machine.setPower('graceful');
  else if (name === 'boot' && device)
    await machine.setBoot({ device, once: true, mode: (await machine.getBoot()).mode });
  else throw new AppError('not_supported', `chassis control: set ${name} ${value}`);
}
