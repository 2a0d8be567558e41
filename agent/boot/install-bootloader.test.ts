import { describe, expect, test } from 'vitest';
import { findEsp } from '#agent/boot/find-esp.ts';
import { installBootloader, writeBootEntries } from '#agent/boot/install-bootloader.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
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

const loader = { path: '\\EFI\\debian\\shimx64.efi', label: 'debian' };

describe('writeBootEntries', () => {
  test.each([true, false])(
    'replaces entries of the same name and comes first (new entries first: %s)',
    async (newFirst) => {
      const { run, state } = firmware({ '0000': 'UiApp', '0001': 'debian', '0002': 'PXE', '0003': 'debian' }, newFirst);
      await writeBootEntries(run, { name: '/dev/vda' }, { number: 1 }, [loader]);
      expect([...state.labels.values()].toSorted()).toEqual(['PXE', 'UiApp', 'debian']);
      expect(state.order.map((number) => state.labels.get(number))).toEqual(['debian', 'UiApp', 'PXE']);
    },
  );

  test('twice is as once', async () => {
    const { run, state } = firmware({ '0000': 'UiApp' });
    await writeBootEntries(run, { name: '/dev/vda' }, { number: 1 }, [loader]);
    await writeBootEntries(run, { name: '/dev/vda' }, { number: 1 }, [loader]);
    expect(state.order.map((number) => state.labels.get(number))).toEqual(['debian', 'UiApp']);
  });

  test('several loaders keep their order', async () => {
    const { run, state } = firmware({ '0000': 'UiApp' });
    const two = [loader, { path: '\\b.efi', label: 'ironic2' }];
    await writeBootEntries(run, { name: '/dev/vda' }, { number: 1 }, two);
    expect(state.order.map((number) => state.labels.get(number))).toEqual(['debian', 'ironic2', 'UiApp']);
  });
});

describe('findEsp', () => {
  const partition = { name: '/dev/vda1', number: 1, sizeBytes: 1, fsType: 'vfat', fsLabel: null, partLabel: null };

  test('by type, in a GPT and in an MBR', () => {
    for (const partType of ['c12a7328-f81f-11d2-ba4b-00a0c93ec93b', '0xef']) {
      expect(
        findEsp('/dev/vda', [
          { ...partition, partType: '0x83' },
          { ...partition, partType },
        ]).partType,
      ).toBe(partType);
    }
  });

  test('none', () => {
    expect(() => findEsp('/dev/vda', [{ ...partition, partType: '0x83' }])).toThrow(
      'disk /dev/vda has no EFI system partition: it has /dev/vda1 (type 0x83)',
    );
  });
});

describe('installBootloader', () => {
  const context = {
    run: (() => Promise.reject(new AppError('command_failed', 'nothing to run'))) as Run,
    log: silentLog,
    node: { uuid: 'n', properties: {}, instance_info: {}, driver_internal_info: {} },
    writtenImage: { current: undefined },
  };

  test('partition images are not done', async () => {
    const params = { root_uuid: '6a4b2c1d-0000-4000-8000-000000000000', target_boot_mode: 'uefi' } as const;
    await expect(installBootloader(context, params)).rejects.toThrow(/not for partition images/);
  });

  test('failures are let pass when the conductor says so', async () => {
    const params = { root_uuid: '6a4b2c1d', target_boot_mode: 'bios', ignore_bootloader_failure: true } as const;
    await expect(installBootloader(context, params)).resolves.toBeUndefined();
  });
});
