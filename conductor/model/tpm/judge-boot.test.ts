import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type BootFacts, judgeBoot, type PredictedBoot } from '#conductor/model/tpm/judge-boot.ts';
import type { MeasuredBoot } from '#conductor/model/tpm/measured-boot.ts';
import type { BootEvent } from '#conductor/model/tpm/read-event-log.ts';

const digest = (text: string) => createHash('sha256').update(text).digest('hex');
const loader = digest('BOOTX64.EFI');
const event = (pcr: number, subject: string): BootEvent & { readonly subject: string } => ({
  pcr,
  type: 13,
  digest: digest(subject),
  data: Buffer.alloc(0),
  subject,
});
const events = [event(9, 'node.cfg'), event(8, 'linuxefi /vmlinuz'), event(9, 'vmlinuz'), event(9, 'initrd.img')];
const [grub, kernel] = [digest('grubx64.efi'), digest('kernel')];
const predicted: PredictedBoot = {
  programs: [
    { name: 'shim', sha256: loader },
    { name: 'GRUB', sha256: grub },
  ],
  kernel,
  events: events.map((event) => ({ ...event, digests: [digest('on cd1'), event.digest] })),
};
const measured: MeasuredBoot = {
  pcrs: { '0': digest('firmware'), '2': digest('roms'), '7': digest('policy') },
  secureBoot: true,
  firmwareVersion: '1.2',
  variables: { SecureBoot: digest('on'), PK: digest('pk'), db: digest('db') },
  policy: digest('policy'),
  programs: [loader, grub, kernel, kernel],
};
const known = { ekPublic: 'ours', acceptedBoot: measured, acceptedBy: null };
const facts: BootFacts = { ekPublic: 'ours', known, boot: { measured, events }, predicted };
const boot = (change: Partial<MeasuredBoot>): BootFacts['boot'] => ({ measured: { ...measured, ...change }, events });

test('the known machine that runs what it was served is trusted', () => {
  expect(judgeBoot(facts)).toEqual({ verdict: 'trusted', reasons: [] });
  expect(judgeBoot({ ...facts, known: undefined }), 'on first sight too').toEqual({ verdict: 'trusted', reasons: [] });
});

const other = digest('other');
describe.each([
  ['another TPM', { ekPublic: 'theirs' }, /^it is another TPM than the one that the node is known by/],
  [
    'other firmware',
    { boot: boot({ pcrs: { ...measured.pcrs, '0': other }, firmwareVersion: '1.3' }) },
    /^the firmware changed 1\.2 → 1\.3 \(PCR 0\)$/,
  ],
  [
    'an option ROM',
    { boot: boot({ pcrs: { ...measured.pcrs, '2': other } }) },
    /^the option ROMs of its cards changed \(PCR 2\)$/,
  ],
  [
    'Secure Boot off',
    { boot: boot({ policy: other, secureBoot: false }) },
    /^Secure Boot was on and is off \(PCR 7\)$/,
  ],
  [
    'a key in db',
    { boot: boot({ policy: other, variables: { ...measured.variables, db: other } }) },
    /^Secure Boot's db changed \(PCR 7\)$/,
  ],
  ['another policy', { boot: boot({ policy: other }) }, /^Secure Boot's policy changed/],
  [
    'a key in db, where an older release has written no policy down',
    {
      boot: boot({ pcrs: { ...measured.pcrs, '7': other }, variables: { ...measured.variables, db: other } }),
      known: { ...known, acceptedBoot: { ...measured, policy: undefined } },
    },
    /^Secure Boot's db changed \(PCR 7\)$/,
  ],
  [
    'another PCR 7 than that of an older release that has written nothing else down',
    {
      boot: boot({ pcrs: { ...measured.pcrs, '7': other }, variables: {}, secureBoot: undefined }),
      known: { ...known, acceptedBoot: { ...measured, policy: undefined, variables: {}, secureBoot: undefined } },
    },
    /^Secure Boot's policy changed \(PCR 7\)$/,
  ],
  [
    'another GRUB, on first sight',
    { boot: boot({ programs: [loader, other, kernel] }), known: undefined },
    /^GRUB is not the one that was served \(PCR 4\)$/,
  ],
  ['no GRUB', { boot: boot({ programs: [loader] }) }, /^GRUB is not the one that was served \(PCR 4\)$/],
  [
    'another kernel than the one that was served, though an accepted boot had it',
    {
      boot: boot({ programs: [loader, grub, other] }),
      known: { ...known, acceptedBoot: { ...measured, programs: [loader, grub, other] } },
    },
    /^the boot loader has started a program that was not served \(PCR 4\)$/,
  ],
  [
    'another loader',
    { boot: boot({ programs: [other] }) },
    /the firmware has started a program that no accepted boot had/,
  ],
  [
    'another initrd',
    { boot: { measured, events: events.with(3, { ...event(9, 'x'), digest: other }) } },
    /^initrd\.img of the boot medium is not what was served \(PCR 9\)$/,
  ],
  [
    'another command line',
    { boot: { measured, events: events.with(1, event(8, 'linuxefi /vmlinuz init=/bin/sh')) } },
    /^linuxefi \/vmlinuz of the boot medium is not what was served \(PCR 8\)$/,
  ],
  ['a file less', { boot: { measured, events: events.slice(0, -1) } }, /^initrd\.img of the boot medium is not/],
  [
    'a command more',
    { boot: { measured, events: [...events, event(8, 'boot')] } },
    /^the boot loader has done more than was served \(PCR 8\)$/,
  ],
] as const satisfies readonly (readonly [string, Partial<BootFacts>, RegExp])[])('%s', (_, change, reason) => {
  test('is a change', () => {
    const judged = judgeBoot({ ...facts, ...change });
    expect(judged.verdict).toBe('changed');
    expect(judged.reasons[0]).toMatch(reason);
  });
});

describe.each([
  ['no log', { boot: { problem: 'it has no log' } }, 'it has no log'],
  ['no prediction', { predicted: { problem: 'iPXE does not measure' } }, 'iPXE does not measure'],
  [
    'another program before the loader, which the first boot had, too',
    {
      boot: boot({ programs: [other, loader, grub] }),
      known: { ...known, acceptedBoot: { ...measured, programs: [other, loader, grub] } },
    },
    'the firmware has started 1 more programs than the boot loader that was served (PCR 4)',
  ],
] as const satisfies readonly (readonly [string, Partial<BootFacts>, string])[])('%s', (_, change, reason) => {
  test('is unknown, never trusted', () => {
    expect(judgeBoot({ ...facts, ...change })).toEqual({ verdict: 'unknown', reasons: [reason] });
  });
});

test('another loader than before is no change where it was served', () => {
  const accepted = { ...measured, programs: [other] };
  expect(judgeBoot({ ...facts, known: { ...known, acceptedBoot: accepted } })).toEqual({
    verdict: 'trusted',
    reasons: [],
  });
});

test('the served loader twice is more than was served', () => {
  expect(judgeBoot({ ...facts, boot: boot({ programs: [loader, loader, grub] }) }).verdict).toBe('unknown');
});

test('a program before the loader that a person has accepted is in order', () => {
  const acceptedBoot = { ...measured, programs: [other, loader, grub] };
  const accepted = { ...facts, known: { ...known, acceptedBoot, acceptedBy: 'anna' } };
  expect(judgeBoot({ ...accepted, boot: boot({ programs: [other, loader, grub, kernel] }) })).toEqual({
    verdict: 'trusted',
    reasons: [],
  });
  expect(judgeBoot({ ...accepted, boot: boot({ programs: [digest('third'), loader, grub] }) }).verdict).toBe('changed');
});

test('without Secure Boot nobody checks the kernel', () => {
  expect(judgeBoot({ ...facts, boot: boot({ programs: [loader, grub] }) }).verdict).toBe('trusted');
});

test('whose key a program was checked by is no change, as what is booted is compared itself', () => {
  expect(judgeBoot({ ...facts, boot: boot({ pcrs: { ...measured.pcrs, '7': other } }) }).verdict).toBe('trusted');
});

test('what shim adds to PCR 7 is no change to a boot of an older release, whose variables are the same', () => {
  const older = { ...known, acceptedBoot: { ...measured, policy: undefined } };
  expect(judgeBoot({ ...facts, known: older, boot: boot({ pcrs: { ...measured.pcrs, '7': other } }) })).toEqual({
    verdict: 'trusted',
    reasons: [],
  });
});

test('a TPM that no vendor vouches for needs a person who has accepted it, known or not', () => {
  const stranger = 'no vendor vouches for its TPM';
  const refused = { verdict: 'unknown', reasons: [stranger] };
  expect(judgeBoot({ ...facts, known: undefined, stranger })).toEqual(refused);
  expect(judgeBoot({ ...facts, stranger }), 'known by its first boot alone').toEqual(refused);
  const accepted = { ...known, acceptedBy: 'anna' };
  expect(judgeBoot({ ...facts, known: accepted, stranger }).verdict).toBe('trusted');
});

test('a change is told though the rest is not proved', () => {
  const judged = judgeBoot({ ...facts, ekPublic: 'theirs', boot: { problem: 'it has no log' } });
  expect(judged).toEqual({ verdict: 'changed', reasons: [expect.stringContaining('another TPM'), 'it has no log'] });
});
