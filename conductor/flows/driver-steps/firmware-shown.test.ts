import { describe, expect, test } from 'vitest';
import type { ShownFirmware } from '#conductor/drivers/interfaces.ts';
import { firmwareUpdate } from '#conductor/flows/driver-steps/firmware.ts';
import type { Done, Update } from '#conductor/flows/driver-steps/firmware-done.ts';
import { awaitChange, awaitProof, versionNow } from '#conductor/flows/driver-steps/firmware-shown.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { sendBy } from '#conductor/kernel/db/query/statement.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';

const dell = { component: 'Installed-25227-7.00.00__iDRAC.Embedded.1-1', before: '7.00.00' };
const shown = (...names: readonly (readonly [string, string | null])[]) => new Map(names);

test.each([
  ['under its name', { component: 'bmc', before: '1.0.0' }, shown(['bmc', ' 2.0.0 ']), '2.0.0'],
  ['that is empty as none', { component: 'bmc', before: '1.0.0' }, shown(['bmc', '']), undefined],
  ['that is null as none', { component: 'bmc', before: '1.0.0' }, shown(['bmc', null]), undefined],
  ['of one that is gone as none', { component: 'bmc', before: '1.0.0' }, shown(['bios', '2.0.0']), undefined],
  ['of one without a version before as none', { component: 'x-1', before: null }, shown(['x-2', '2']), undefined],
  [
    'under the name with the new version',
    dell,
    shown(
      ['Previous-25227-7.00.00__iDRAC.Embedded.1-1', '7.00.00'],
      ['Installed-25227-7.10.30__iDRAC.Embedded.1-1', '7.10.30'],
      ['Installed-159-7.10.30__BIOS.Setup.1-1', '7.10.30'],
    ),
    '7.10.30',
  ],
  ['under the name with the version of before', dell, shown([dell.component, '7.00.00']), '7.00.00'],
  ['of another item as none', dell, shown(['Installed-159-7.10.30__BIOS.Setup.1-1', '7.10.30']), undefined],
])('finds the version %s', (_how, update, versions, version) => {
  expect(versionNow(update, versions)).toBe(version);
});

describe('an update of a BIOS, at a BMC whose inventory can not be read', () => {
  const bios: Update = {
    component: 'bios',
    before: '1.0',
    task: null,
    hasEnded: true,
    hasOwnEnd: false,
    hasWord: false,
    pendingSince: null,
    lostSince: null,
    resets: 0,
    since: 0,
  };
  const done: Done = {
    updates: [bios],
    begun: null,
    asked: null,
    isResetting: false,
    resetSince: null,
    wasReset: false,
  };
  const contextWith = (version: string) => {
    const components = [{ component: 'bios', version }];
    const fault = new AppError('bmc_error', 'no list');
    const firmware = { getComponents: () => Promise.resolve({ components, fault, mayHide: () => true }) };
    const context = {
      bmc: () => ({ firmware }),
      node: { uuid: 'n' },
      step: { args: { settings: [{ component: 'bios' }] } },
      clock: { now: () => new Date(0) },
      signal: new AbortController().signal,
    };
    return context as unknown as StepContext;
  };
  const change = { done, updates: [bios], about: 'it', isOver: 'it is over' };

  test('has come where the new version is shown', async () => {
    expect(await awaitChange(contextWith('2.0'), change)).toBeUndefined();
    expect(await awaitProof(contextWith('2.0'), done, [bios])).toBeUndefined();
  });

  test('is waited for while the old one is shown, which says nothing', async () => {
    const waits = { kind: 'wait', reason: expect.stringContaining('which does not answer now: no list') as string };
    expect(await awaitChange(contextWith('1.0'), change)).toMatchObject(waits);
    expect(await awaitProof(contextWith('1.0'), done, [bios])).toMatchObject(waits);
  });
});

describe('an update of a component that shows no version for an hour', () => {
  const waitsFor = async (shown: readonly (readonly [string, string | null])[], mayHide: ShownFirmware['mayHide']) => {
    const component = 'x-1';
    const update: Update = {
      component,
      before: '1.0',
      task: null,
      hasEnded: false,
      hasOwnEnd: false,
      hasWord: false,
      pendingSince: null,
      lostSince: 0,
      resets: 0,
      since: 0,
    };
    const updates = [update];
    const done: Done = { updates, begun: null, asked: null, isResetting: false, resetSince: null, wasReset: false };
    const components = shown.map(([name, version]) => ({ component: name, version }));
    const firmware = { getComponents: () => Promise.resolve({ components, fault: undefined, mayHide }) };
    const context = {
      bmc: () => ({ firmware }),
      node: { uuid: 'n' },
      step: { uuid: 's', args: { settings: [{ component }] } },
      clock: { now: () => new Date(59 * 60_000) },
      log: silentLog,
      record: () => Promise.resolve(),
      signal: new AbortController().signal,
    } as unknown as StepContext;
    const change = { done, updates, about: 'it', isOver: 'it is over' };
    return [await awaitChange(context, change), await awaitProof(context, done, updates).catch(errorChain)] as const;
  };

  test.each<[string, readonly (readonly [string, string | null])[], ShownFirmware['mayHide']]>([
    ['is listed without one', [['x-1', null]], () => false],
    ['may be a part that can not be read', [], (name, before) => name === 'x-1' && before === '1.0'],
  ])('is waited for to the end of its own time where it %s', async (_how, shown, mayHide) => {
    const own = { kind: 'wait', timeoutMs: 60_000, hasOwnLimit: true };
    const reason = expect.stringContaining('x-1 can not be read, or shows no version now') as string;
    expect(await waitsFor(shown, mayHide)).toMatchObject([own, { ...own, reason }]);
  });

  test('has failed where it is gone, and all that is there can be read', async () => {
    const [, proof] = await waitsFor([['x-2', '1.0']], () => false);
    expect(proof).toContain('update x-1: the BMC shows no version after 1.0');
  });
});

describe('an update whose task never answers anything but an error', () => {
  const resume = (version: string, hasWord: boolean) => {
    const components = [{ component: 'bmc', version }];
    const shown: ShownFirmware = { components, fault: undefined, mayHide: () => false };
    const firmware = {
      getUpdateProgress: () => Promise.reject(new AppError('bmc_error', 'no right', { details: { status: 403 } })),
      getComponents: () => Promise.resolve(shown),
    };
    const update: Update = {
      component: 'bmc',
      before: '1.0',
      task: '/redfish/v1/TaskService/Tasks/7',
      hasEnded: false,
      hasOwnEnd: false,
      hasWord,
      pendingSince: null,
      lostSince: null,
      resets: 0,
      since: 0,
    };
    const db = sendBy({} as Transaction, () => Promise.resolve({ rows: [] }));
    const context = {
      db,
      bmc: () => ({ firmware }),
      node: { uuid: 'n' },
      flow: { uuid: 'f' },
      step: {
        uuid: 's',
        interface: 'firmware',
        args: { settings: [{ component: 'bmc', url: 'http://192.0.2.7/bmc.bin' }] },
        output: { updates: [update], wasReset: false },
      },
      clock: { now: () => new Date(0) },
      ask: <T>(wanted: Promise<T>) => wanted,
      record: () => Promise.resolve(),
      signal: new AbortController().signal,
    };
    return firmwareUpdate.resume?.(context as unknown as StepContext);
  };

  test('has come where another version is shown', async () => {
    expect(await resume('2.0', false)).toMatchObject({
      kind: 'done',
      output: { firmware: [{ before: '1.0', after: '2.0' }] },
    });
  });

  test.each([
    ['the version of before is shown', '1.0', false],
    ['it has told its state before', '2.0', true],
  ])('is waited for while %s', async (_what, version, hasWord) => {
    const reason = expect.stringContaining('which does not answer now: no right') as string;
    expect(await resume(version, hasWord)).toMatchObject({ kind: 'wait', reason });
  });
});
