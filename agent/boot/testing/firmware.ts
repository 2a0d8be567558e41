import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** A firmware's boot entries, as efibootmgr 17 shows and changes them. */
export interface Firmware {
  readonly run: Run;
  order: string[];
  next: string | undefined;
  /** By number: label, and device path behind a tab. */
  readonly entries: Map<string, string>;
  /** How many entries there is room for; none fits any more when it is reached. */
  room: number;
  /** Habit of the firmware beside all that: new entries last, none kept, none deleted. */
  habit: 'none' | 'new last' | 'forgets' | 'keeps old';
}

/**
 * @param entries by number
 * @param partitions PARTUUID by disk and number, `/dev/vda 1`
 */
export function firmware(entries: Record<string, string>, partitions: Readonly<Record<string, string>>): Firmware {
  const state: Firmware = {
    run: (command, args) => Promise.resolve().then(() => ranWell(answer(command, args))),
    order: Object.keys(entries),
    next: undefined,
    entries: new Map(Object.entries(entries)),
    room: 100,
    habit: 'none',
  };
  function answer(command: string, args: readonly string[]): string {
    const value = (name: string): string => args[args.indexOf(name) + 1] ?? '';
    if (command !== 'efibootmgr') throw new AppError('command_failed', `${command} is not there`);
    if (args.includes('--create')) create(value);
    else if (args.includes('--delete-bootnum')) remove(value('--bootnum'));
    else if (args.includes('--bootorder')) state.order = value('--bootorder').split(',');
    const lines = [...state.entries].map(([number, text]) => `Boot${number}* ${text}`);
    const next = state.next === undefined ? [] : [`BootNext: ${state.next}`];
    return [...next, `BootOrder: ${state.order.join(',')}`, ...lines].join('\n');
  }
  function create(value: (name: string) => string): void {
    if (state.entries.size >= state.room) {
      throw new AppError('command_failed', 'efibootmgr: Could not prepare Boot variable: No space left on device');
    }
    if (state.habit === 'forgets') return;
    const numbers = [...Array(256).keys()].map((each) => each.toString(16).toUpperCase().padStart(4, '0'));
    const number = numbers.find((each) => !state.entries.has(each)) ?? '';
    const id = partitions[`${value('--disk')} ${value('--part')}`] ?? '';
    const path = `HD(${value('--part')},GPT,${id},0x800,0x20000)/File(${value('--loader')})`;
    state.entries.set(number, `${value('--label')}\t${path}`);
    state.order = state.habit === 'new last' ? [...state.order, number] : [number, ...state.order];
  }
  function remove(number: string): void {
    if (state.habit === 'keeps old') {
      throw new AppError('command_failed', 'efibootmgr: Could not delete variable: Operation not permitted');
    }
    state.entries.delete(number);
    state.order = state.order.filter((each) => each !== number);
  }
  return state;
}

/** A device path to a file on the partition of this PARTUUID. */
export function pathTo(partition: string, file: string): string {
  return `HD(1,GPT,${partition},0x800,0x20000)/File(${file})`;
}
