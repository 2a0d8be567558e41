import { describe, expect, test } from 'vitest';
import { writeBootEntries } from '#agent/boot/boot-entries.ts';
import type { Run } from '#shared/process/run.ts';

/** Firmware with entries by number; new ones go first or, on odd firmware, last. */
function firmware(
  entries: Record<string, string>,
  newFirst = true,
): { run: Run; state: { order: string[]; labels: Map<string, string> } } {
  const state = { order: Object.keys(entries), labels: new Map(Object.entries(entries)) };
  const value = (args: readonly string[], name: string): string => args[args.indexOf(name) + 1] ?? '';
  const run: Run = async (_command, args) => {
    if (args.includes('--create')) {
      const number =
        [...Array(16).keys()].map((each) => `000${each.toString(16)}`).find((each) => !state.labels.has(each)) ?? '';
      state.labels.set(number, value(args, '--label'));
      state.order = newFirst ? [number, ...state.order] : [...state.order, number];
    } else if (args.includes('--delete-bootnum')) {
      const number = value(args, '--bootnum');
      state.labels.delete(number);
      state.order = state.order.filter((each) => each !== number);
    } else if (args.includes('--bootorder')) {
      state.order = value(args, '--bootorder').split(',');
    }
    const lines = [...state.labels].map(([number, label]) => `Boot${number}* ${label}`);
    return {
      stdout: [`BootOrder: ${state.order.join(',')}`, ...lines].join('\n'),
      stderr: '',
      exitCode: 0,
      durationMs: 1,
    };
  };
  return { run, state };
}

const entry = { device: '/dev/vda', partition: 1, label: 'debian', loader: '\\EFI\\debian\\shimx64.efi' };

describe('writeBootEntries', () => {
  test.each([true, false])(
    'replaces entries of the same name and comes first (new entries first: %s)',
    async (newFirst) => {
      const { run, state } = firmware({ '0000': 'UiApp', '0001': 'debian', '0002': 'PXE', '0003': 'debian' }, newFirst);
      await writeBootEntries(run, [entry]);
      expect([...state.labels.values()].toSorted()).toEqual(['PXE', 'UiApp', 'debian']);
      expect(state.order.map((number) => state.labels.get(number))).toEqual(['debian', 'UiApp', 'PXE']);
    },
  );

  test('twice is as once', async () => {
    const { run, state } = firmware({ '0000': 'UiApp' });
    await writeBootEntries(run, [entry]);
    await writeBootEntries(run, [entry]);
    expect(state.order.map((number) => state.labels.get(number))).toEqual(['debian', 'UiApp']);
  });

  test('several keep their order', async () => {
    const { run, state } = firmware({ '0000': 'UiApp' });
    const two = [entry, { ...entry, label: 'ironic2' }];
    await writeBootEntries(run, two);
    expect(state.order.map((number) => state.labels.get(number))).toEqual(['debian', 'ironic2', 'UiApp']);
  });

  test('entries that an array had are replaced too, and those of a plain disk by an array', async () => {
    const { run, state } = firmware({
      '0000': 'debian (RAID, part0)',
      '0001': 'debian (RAID, part1)',
      '0002': 'debian',
    });
    const raid = [0, 1].map((index) => ({ ...entry, label: `debian (RAID, part${index})` }));
    await writeBootEntries(run, raid);
    expect(state.order.map((number) => state.labels.get(number))).toEqual(raid.map(({ label }) => label));
    await writeBootEntries(run, [entry]);
    expect([...state.labels.values()]).toEqual(['debian']);
  });
});
