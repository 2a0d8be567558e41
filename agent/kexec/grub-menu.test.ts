import { describe, expect, test } from 'vitest';
import { chooseGrubEntry, type GrubFacts } from '#agent/kexec/grub-menu.ts';
import { readGrubEnvironment, readLoaderEntries } from '#agent/kexec/loader-entries.ts';
import { debian, debianUuid, rhel, rhelEntries, rhelUuid, ubuntu } from '#agent/kexec/testing/grub-configurations.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { array, assert, constantFrom, property } from '#test/fuzz/fast-check.ts';

const facts: GrubFacts = { platform: 'efi', files: new Set(['grub.cfg']), saved: new Map(), loaderEntries: [] };

function saved(text: string): Pick<GrubFacts, 'files' | 'saved'> {
  return { files: new Set(['grubenv']), saved: readGrubEnvironment(`# GRUB Environment Block\n${text}\n#######`) };
}

describe('what distributions write', () => {
  test.each(['efi', 'pc'] as const)('Debian on %s: the first entry, by the UUID of its partition', (platform) => {
    const device = `UUID=${debianUuid}`;
    expect(chooseGrubEntry(debian, { ...facts, platform })).toEqual({
      title: 'Debian GNU/Linux',
      kernel: { device, path: '/boot/vmlinuz-6.1.0-18-amd64' },
      initrds: [{ device, path: '/boot/initrd.img-6.1.0-18-amd64' }],
      commandLine: `root=UUID=${debianUuid} ro quiet`,
    });
  });

  test('Debian with another default: an entry of a submenu, by number or id', () => {
    for (const other of ['1>1', `gnulinux-advanced-${debianUuid}>gnulinux-6.1.0-18-amd64-recovery`]) {
      const text = debian.replace('set default="0"', `set default="${other}"`);
      expect(chooseGrubEntry(text, facts).commandLine).toBe(`root=UUID=${debianUuid} ro single`);
    }
  });

  test("Ubuntu's cloud image: without an initrd first, as GRUB does, and with one after that has failed", () => {
    expect(chooseGrubEntry(ubuntu, facts)).toMatchObject({
      kernel: { device: 'LABEL=BOOT', path: '/vmlinuz-6.8.0-31-generic' },
      initrds: [],
      commandLine: 'root=PARTUUID=6c1f ro console=tty1 console=ttyS0 panic=-1',
    });
    const failed = chooseGrubEntry(ubuntu, { ...facts, ...saved('initrdfail=1') });
    expect(failed.initrds.map(({ path }) => path)).toEqual(['/microcode.cpio', '/initrd.img-6.8.0-31-generic']);
  });

  test('RHEL: the saved entry, else the newest, with variables of grubenv', () => {
    const loaderEntries = readLoaderEntries(rhelEntries);
    expect(chooseGrubEntry(rhel, { ...facts, loaderEntries })).toEqual({
      title: 'Red Hat Enterprise Linux (5.14.0-362.el9.x86_64) 9.3 (Plow)',
      kernel: { device: `UUID=${rhelUuid}`, path: '/vmlinuz-5.14.0-362.el9.x86_64' },
      initrds: [{ device: `UUID=${rhelUuid}`, path: '/initramfs-5.14.0-362.el9.x86_64.img' }],
      commandLine: `root=UUID=${rhelUuid} ro`,
    });
    const environment = saved('saved_entry=4f3e-5.14.0-70.el9.x86_64\nextra=console=ttyS0 quiet');
    expect(chooseGrubEntry(rhel, { ...facts, loaderEntries, ...environment })).toMatchObject({
      kernel: { path: '/vmlinuz-5.14.0-70.el9.x86_64' },
      commandLine: `root=UUID=${rhelUuid} ro console=ttyS0 quiet`,
    });
  });
});

describe("GRUB's words", () => {
  const boot = (line: string): string => `menuentry a {\n${line}\n}`;

  test('arguments are quoted for the kernel as GRUB does', () => {
    const { commandLine } = chooseGrubEntry(boot(`set a='x y'; linux /k "dyndbg=file a" $a "$a" b\\ c it\\'s`), facts);
    expect(commandLine).toBe(String.raw`"dyndbg=file a" x y "x y" "b c" it\'s`);
  });

  test('spaces around what a variable has are none of the words', () => {
    const { commandLine, initrds } = chooseGrubEntry(boot("a=' x '; b=' '; linux /k $a $b y$a; initrd /i $b"), facts);
    expect([commandLine, initrds.length]).toEqual(['x y x', 1]);
  });

  test('a partition is named before the path, or by root; without either it is that of the configuration', () => {
    const device = (text: string): string | undefined => chooseGrubEntry(boot(text), facts).kernel.device;
    expect(device('linux (hd0,gpt2)/k')).toBe('hd0,gpt2');
    expect(device('set root=(hd0,1)\nlinux /k')).toBe('hd0,1');
    expect(device('search.fs_label os root hd0,1\nlinux ($root)/k')).toBe('LABEL=os');
    expect(device('linux /k')).toBeUndefined();
  });

  test.each([
    ['an entry for one boot', 'next_entry', boot('linux /k'), saved('next_entry=1')],
    ['a choice by what only GRUB knows', '`linux` depends on', boot('if cpuid -l; then linux /a; fi'), {}],
    ['an argument by it', 'a variable of `linux`', `if cpuid -l; then set a=1; fi\n${boot('linux /k $a')}`, {}],
    ['a partition by it', 'the partition of /k', boot('search --file /k --set=root\nlinux /k'), {}],
    ['a default by it', 'its default can not be known', `if keystatus; then default=1; fi\n${boot('linux /k')}`, {}],
    [
      'an entry behind one that may be missing',
      'certain to be there',
      `default=1\nif a; then ${boot('x')}; fi\n${boot('linux /k')}`,
      {},
    ],
    ['another default', 'its default "7"', `set default=7\n${boot('linux /k')}`, {}],
    ['a submenu', 'is a menu', `submenu a {\n${boot('linux /k')}\n}`, {}],
    ['another loader', '`chainloader`', boot('chainloader /EFI/a.efi'), {}],
    ['a function with another loader', '`go`', `function go { chainloader /a; }\n${boot('go')}`, {}],
    ['a device tree', '`devicetree`', boot('linux /k; devicetree /d'), {}],
    ['another file', '`source`', `source (hd0,1)/more.cfg\n${boot('linux /k')}`, {}],
    ['nothing to start', 'starts no Linux kernel', boot('halt'), {}],
    ['no entries at all', 'its default "0"', '', {}],
    ['a pipe', '`| b', 'a | b', {}],
    ['an open block', '`}` is missing', 'menuentry a {', {}],
    ['an open quote', 'is not understood', "set a='b", {}],
    ['a variable that doubles itself', 'a word is longer', `a=xx\n${'a=$a$a\n'.repeat(40)}`, {}],
    ['a word of very many variables', 'a word is longer', `a='${'x '.repeat(2000)}'\necho ${'$a'.repeat(300_000)}`, {}],
    ['deep nesting', 'nested more than', 'if a; then '.repeat(60), {}],
    ['a long command line', 'longer than 2047', boot(`linux /k ${'a'.repeat(2048)}`), {}],
  ])('refused: %s', (_what, why, text, more) => {
    expect(() => chooseGrubEntry(text, { ...facts, ...more })).toThrow(why);
  });

  test('any text ends in an entry or in a refusal', () => {
    const words = 'menuentry { } if then fi linux /k $a " \' ; \n [ ] set a=$a \\ initrd submenu default=1'.split(' ');
    const outcome = (text: string): string => {
      try {
        return chooseGrubEntry(text, facts).kernel.path;
      } catch (error) {
        return error instanceof AppError ? error.code : String(error);
      }
    };
    assert(
      property(array(constantFrom(...words), { maxLength: 30 }), (parts) => {
        expect(['/k', 'not_supported']).toContain(outcome(parts.join(' ')));
      }),
    );
  });
});
