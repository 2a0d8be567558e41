import { afterEach, describe, expect, test } from 'vitest';
import type { VirtualMediaInterface } from '#conductor/drivers/interfaces.ts';
import { redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';
import { createInstantClock } from '#conductor/drivers/redfish/testing/rigs.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';

const closing: (() => Promise<void> | undefined)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Rig {
  readonly media: VirtualMediaInterface;
  readonly inDrive: () => string | undefined;
  readonly simulator: RedfishSimulator;
  /** Lists what was asked of slots: `CD2 InsertMedia`, and `CD2 PATCH`. */
  readonly asked: () => string[];
}

async function rig(quirks: Partial<Quirks>): Promise<Rig> {
  let inDrive: string | undefined;
  const setMedia = (url: string | undefined): void => void (inDrive = url);
  const machine = { ...createMemoryMachine(), setMedia };
  const simulator = await startRedfishSimulator({ machine, username: 'admin', password: 'secret', quirks });
  const type = redfishHardwareType({ run, log: silentLog, clock: createInstantClock() }, { retryMs: 5 });
  closing.push(
    () => type.close?.(),
    () => simulator.close(),
  );
  const login = { redfish_username: 'admin', redfish_password: 'secret' };
  const { virtualMedia: media } = type.connect({ redfish_address: simulator.address, ...login });
  if (!media) throw new AppError('internal', 'the driver has no virtual media');
  const asked = (): string[] =>
    simulator.requests.flatMap(({ method, path }) => {
      const [, slot = '', action = method] = /VirtualMedia\/(\w+)(?:\/Actions\/VirtualMedia\.(\w+))?$/.exec(path) ?? [];
      return method !== 'GET' && slot !== '' ? [`${slot} ${action}`] : [];
    });
  return { media, inDrive: () => inDrive, simulator, asked };
}

const cds = (...more: readonly object[]): Quirks['slots'] =>
  ['CD1', 'CD2'].map((id, index) => ({ id, types: ['CD', 'DVD'], ...more[index] }));
const console = { image: '//client/os.iso', via: 'Applet' } as const;
const left = { image: 'http://192.0.2.7/left.iso', via: 'URI' } as const;
const all = ['TransferProtocolType', 'TransferMethod', 'Inserted', 'WriteProtected'];
const one = 'https://192.0.2.9/one.iso';
const two = 'http://192.0.2.9/two.iso';

test.each<[string, Partial<Quirks>]>([
  ['at the manager', {}],
  ['at the system', { virtualMedia: 'of the system' }],
  ['by PATCH, with ETags demanded', { virtualMedia: 'by PATCH', requireIfMatch: true }],
  ['by tasks', { tasks: true, taskPolls: 1 }],
  ['of a manager that is linked in another way', { managedBy: 'Managers' }],
  ['of a manager that is the only one', { managedBy: 'nowhere' }],
  ['that does not say what it is for', { slots: [{ id: 'CD', types: null }] }],
  ['whose type is in small letters', { slots: [{ id: 'CD', types: ['cd', 'dvd'] }] }],
  ['after one that is not there', { slots: cds({ unreadable: 404 }) }],
  ['after one that is not filled from addresses', { slots: cds({ refuses: 405 }) }],
  ['after one that refuses', { slots: cds({ refuses: 400 }) }],
  ['whose name stays after the ejection', { media: { shows: 'left over' } }],
  ['that is always said to be full', { media: { shows: 'always in' } }],
  ['that is said to be empty until it is read', { media: { shows: 'unread' } }],
  ['of which nothing but the name is said', { media: { shows: 'never in' } }],
  ['that names images in its own way', { media: { showsImage: (url) => `\\\\${url.replace(/.*\//, '')}` } }],
  ['that names no images', { media: { showsImage: () => '' } }],
  ['that wants a login', { media: { needs: ['UserName', 'Password'] } }],
  ['that wants all, named in words', { media: { needs: all } }],
  ['that wants all, named as related', { media: { needs: all, refusal: { status: 400, named: 'as related' } } }],
  ['that wants all, and names nothing', { media: { needs: all, refusal: { status: 400, named: 'nowhere' } } }],
  ['that fails for what is missing', { media: { needs: all, refusal: { status: 500, named: 'in words' } } }],
  ['that fails, and names nothing', { media: { needs: all, refusal: { status: 500, named: 'nowhere' } } }],
  ['that wants no state', { virtualMedia: 'by PATCH', media: { refuses: ['Inserted', 'WriteProtected'] } }],
  ['that is still being emptied', { media: { busyAfterEject: 2 } }],
  ['that refuses to be emptied when it is empty', { media: { ejectsFullOnly: true } }],
])('fills, replaces and empties the CD drive %s', async (_, quirks) => {
  const { media, inDrive } = await rig(quirks);
  await media.insert(one);
  expect(inDrive()).toBe(one);
  await media.eject({ only: (image) => image.includes('two') });
  expect(inDrive()).toBe(one);
  await media.insert(two, { replaces: () => true });
  expect(inDrive()).toBe(two);
  await media.eject();
  expect(inDrive()).toBeUndefined();
});

test.each<[string, Partial<Quirks>]>([
  ['nothing in it', {}],
  ['a name that was left', { media: { shows: 'left over' } }],
  ['a word that something is in it', { media: { shows: 'always in' } }],
])('an empty drive with %s is left as it is', async (_, quirks) => {
  const { media, simulator, asked } = await rig({ ...quirks, slots: cds() });
  await media.insert(one);
  await media.eject();
  simulator.quirks.media = { ...simulator.quirks.media, ejectsFullOnly: true };
  const before = asked();
  await media.eject();
  expect(asked()).toEqual(before);
});

describe('of several drives', () => {
  test("an empty one is filled, and a person's image is not touched", async () => {
    const { media, asked } = await rig({ slots: cds({ holds: { ...console, isKept: true } }) });
    const { beside } = await media.insert(one);
    expect(asked()).toEqual(['CD2 InsertMedia']);
    expect(beside).toEqual([expect.stringMatching(/CD1 shows Image \/\/client\/os.iso, .* ConnectedVia Applet/)]);
    await media.eject({ only: (image) => image === one });
    expect(asked()).toEqual(['CD2 InsertMedia', 'CD2 EjectMedia']);
  });

  test('one that holds the image already is asked nothing', async () => {
    const { media, asked } = await rig({ slots: cds({}, { holds: { image: one, via: 'URI' } }) });
    await media.insert(one);
    expect(asked()).toEqual([]);
  });

  test('what is to be replaced goes first', async () => {
    const { media, asked } = await rig({ slots: cds({}, { holds: left }) });
    await media.insert(one, { replaces: (image) => image === left.image });
    expect(asked()).toEqual(['CD2 EjectMedia', 'CD1 InsertMedia']);
  });

  test("where none is empty, an image by address goes before a person's", async () => {
    const { media, asked, inDrive } = await rig({ slots: cds({ holds: console }, { holds: left }) });
    await media.insert(one);
    expect(asked()).toEqual(['CD2 EjectMedia', 'CD2 InsertMedia']);
    expect(inDrive()).toBe(one);
  });

  test('one that nobody fills from an address is no empty one', async () => {
    const { media, asked } = await rig({ slots: cds({ refuses: 405 }, { holds: left }) });
    await media.insert(one);
    expect(asked()).toEqual(['CD1 PATCH', 'CD2 EjectMedia', 'CD2 InsertMedia']);
  });

  test('a full one stays where an empty one refuses the image, and the error says both', async () => {
    const { media, asked } = await rig({ slots: cds({ refuses: 400 }, { holds: left }) });
    const error: unknown = await media.insert(one).catch((reason: unknown) => reason);
    expect(new Set(asked())).toEqual(new Set(['CD1 InsertMedia']));
    expect(errorChain(error)).toMatch(/InsertMedia answered 400.*CD2 shows Image .*left\.iso.*: eject it/);
    expect(error).toMatchObject({ code: 'bmc_error' });
  });

  test('full ones that stay full are all named', async () => {
    const { media } = await rig({
      slots: cds({ holds: { ...console, isKept: true } }, { holds: { ...left, isKept: true } }),
    });
    const error: unknown = await media.insert(one).catch((reason: unknown) => reason);
    expect(errorChain(error)).toMatch(/CD2\/Actions\S+EjectMedia answered 400.*CD1\/Actions\S+EjectMedia answered 400/);
  });

  test('where the image is refused, only one is emptied for it', async () => {
    const { media, asked } = await rig({ slots: cds({ holds: left, refuses: 400 }, { holds: left }) });
    await expect(media.insert(one)).rejects.toMatchObject({ code: 'bmc_error' });
    expect(asked()).not.toContain('CD2 EjectMedia');
  });

  test('one that takes an image and does not show it is followed by the next', async () => {
    const { media, asked, inDrive } = await rig({ slots: cds(), media: { forgets: 1 } });
    await media.insert(one);
    expect(asked()).toEqual(['CD1 InsertMedia', 'CD2 InsertMedia']);
    expect(inDrive()).toBe(one);
  });

  test('each is emptied, also after one that stays full, which the error names', async () => {
    const { media, asked } = await rig({ slots: cds({ holds: { ...console, isKept: true } }, { holds: left }) });
    await expect(media.eject()).rejects.toMatchObject({
      code: 'bmc_error',
      message: expect.stringContaining('eject virtual media at'),
      cause: { message: expect.stringContaining('CD1') },
    });
    expect(asked()).toEqual(['CD1 EjectMedia', 'CD2 EjectMedia']);
    expect((await media.list()).map(({ image }) => image)).toEqual([console.image, null]);
  });

  test("one that can't be read is not known to be empty", async () => {
    const { media, inDrive } = await rig({ slots: cds({ unreadable: 500 }) });
    await media.insert(one);
    expect(inDrive()).toBe(one);
    await expect(media.eject()).rejects.toMatchObject({ cause: { message: expect.stringContaining('CD1') } });
    expect(inDrive()).toBeUndefined();
    const { media: other } = await rig({ slots: cds({ unreadable: 500 }, { unreadable: 500 }) });
    const error: unknown = await other.list().catch((reason: unknown) => reason);
    expect(errorChain(error)).toMatch(/its virtual CD drives can't be read: .*CD1 answered 500.*CD2 answered 500/);
    expect(error).toMatchObject({ code: 'bmc_error' });
  });
});

test('what is shown in place of what was asked for is named, without what opens the image', async () => {
  const token = 'x'.repeat(43);
  const { media } = await rig({ media: { showsImage: () => `http://192.0.2.9/other/${token}.iso` } });
  const error: unknown = await media.insert(`http://192.0.2.9/media/${token}0.iso`).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'timeout' });
  expect(errorChain(error)).toMatch(
    /insert virtual media at \S+: \S+CD shows Image http:\/\/192\.0\.2\.9\/other\/\*{6}\.iso, Inserted true.*not the image that was asked for$/,
  );
  expect(errorChain(error)).not.toContain(token);
});

test('an insertion whose answer is lost is looked for, and not asked for again', async () => {
  const { media, inDrive, simulator, asked } = await rig({});
  simulator.inject({ method: 'POST', path: /InsertMedia$/, dropAnswer: true });
  await media.insert(one);
  expect([inDrive(), asked()]).toEqual([one, ['CD InsertMedia']]);
  simulator.inject({ method: 'POST', path: /EjectMedia$/, dropAnswer: true });
  await media.eject();
  expect([inDrive(), asked()]).toEqual([undefined, ['CD InsertMedia', 'CD EjectMedia']]);
});

test('an insertion that was never heard is asked for again', async () => {
  const { media, inDrive, simulator } = await rig({});
  simulator.inject({ method: 'POST', path: /InsertMedia$/, drop: true });
  await media.insert(one);
  expect(inDrive()).toBe(one);
});

test.each([401, 403])('a login that is refused with %d is refused by every drive', async (status) => {
  const { media, simulator, asked } = await rig({ slots: cds() });
  simulator.inject({ method: 'POST', path: /InsertMedia$/, status, times: 99 });
  await expect(media.insert(one)).rejects.toMatchObject({ message: expect.stringContaining('insert virtual media') });
  expect(new Set(asked())).toEqual(new Set(['CD1 InsertMedia']));
});

test('a BMC without a virtual CD drive is named, with what to do', async () => {
  const { media } = await rig({ virtualMedia: 'none' });
  await expect(media.insert(two)).rejects.toMatchObject({
    code: 'not_supported',
    message: expect.stringContaining("has no virtual CD drive; set boot_interface to 'ipxe'"),
  });
  const { media: floppy } = await rig({ slots: [{ id: 'Floppy', types: ['Floppy'] }] });
  await expect(floppy.list()).rejects.toMatchObject({ code: 'not_supported' });
});

test("an image that the BMC can't read is the BMC's own words", async () => {
  const { media, simulator, asked } = await rig({});
  const body = { error: { code: 'x', message: 'The image could not be read.' } };
  simulator.inject({ method: 'POST', path: /InsertMedia$/, status: 400, body, times: 99 });
  await expect(media.insert(two)).rejects.toMatchObject({
    code: 'bmc_error',
    message: expect.stringContaining('insert virtual media at'),
    cause: { message: expect.stringContaining('The image could not be read.') },
  });
  expect(asked().length).toBeLessThanOrEqual(4);
});

test('a task that failed is not asked for in other words', async () => {
  const { media, asked } = await rig({ tasks: true, failTasks: true });
  await expect(media.insert(two)).rejects.toMatchObject({
    code: 'bmc_error',
    cause: { message: expect.stringContaining('The task failed on purpose') },
  });
  expect(asked()).toEqual(['CD InsertMedia']);
});
