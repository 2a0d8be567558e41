import { describe, expect, test } from 'vitest';
import { readHiddenSectors, requireNoHiddenSectors } from '#agent/erase/hidden-sectors.ts';
import { hdparmIdentify } from '#agent/erase/testing/recorded-hdparm.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

const features = (...names: string[]): string =>
  `${hdparmIdentify(undefined)}${names.map((name) => `\t   *\t${name}\n`).join('')}`;
const hpa = 'Host Protected Area feature set';
const dco = 'Device Configuration Overlay feature set';
const native = (text: string): string => `\n/dev/sda:\n max sectors   = ${text}\n`;
const overlay = (sectors: number): string =>
  `\n/dev/sda:\nDCO Checksum verified.\nDCO Revision: 0x0002\n\tReal max sectors: ${sectors}\n`;

describe('what hdparm (9.65) prints', () => {
  test.each([
    ['no such feature', features(), native('0/1, HPA setting seems invalid (buggy kernel device driver?)'), ''],
    ['HPA off', features(hpa), native('312581808/312581808, HPA is disabled'), ''],
    ['no limit to the address', features(), native('312581808/312581808, ACCESSIBLE MAX ADDRESS disabled'), ''],
    ['DCO off', features(hpa, dco), native('5860533168/5860533168, HPA is disabled'), overlay(5860533168)],
  ])('%s', (_name, identify, text, dcoText) => {
    expect(readHiddenSectors({ identify, native: text, overlay: dcoText })).toBeUndefined();
  });

  test.each([
    ['HPA', features(hpa), native('586070255/586072368, HPA is enabled'), '', 'hides 2113 sectors (HPA)'],
    ['a limit', features(), native('100/200, ACCESSIBLE MAX ADDRESS enabled'), '', 'hides 100 sectors (HPA)'],
    ['DCO', features(dco), native('900/900, HPA is disabled'), overlay(1000), 'hides 100 sectors (DCO)'],
    ['a bridge', features(hpa), native('0/1, HPA setting seems invalid (buggy…)'), '', 'does not report'],
    ['no answer', features(hpa), '', '', 'supports hidden sectors (HPA) and does not report'],
    [
      'ACS-3',
      features().replace('Supported: 9', 'Supported: 10 9'),
      native('0/1, HPA setting seems invalid'),
      '',
      'HPA',
    ],
    ['frozen DCO', features(hpa, dco), native('900/900, HPA is disabled'), '', 'supports hidden sectors (DCO)'],
  ])('%s', (_name, identify, text, dcoText, expected) => {
    expect(readHiddenSectors({ identify, native: text, overlay: dcoText })).toContain(expected);
  });
});

test('a disk that is not an ATA disk is asked no more', async () => {
  const commands: string[] = [];
  const run: Run = (_command, args) => {
    commands.push(args.join(' '));
    return Promise.reject(new AppError('command_failed', 'hdparm exited with 25'));
  };
  await requireNoHiddenSectors(run, '/dev/sda');
  expect(commands).toEqual(['-I /dev/sda']);
});

test('one with hidden sectors is named, with what to do', async () => {
  const run: Run = (_command, args) =>
    Promise.resolve(ranWell(args[0] === '-I' ? features(hpa) : native('586070255/586072368, HPA is enabled')));
  await expect(requireNoHiddenSectors(run, '/dev/sda')).rejects.toThrow(
    /^\/dev\/sda hides 2113 sectors \(HPA\): the hidden sectors can be neither read nor overwritten\. Enable ATA secure/,
  );
});
