import { describe, expect, test } from 'vitest';
import { chooseSubvolume, rootsInFstab, rootsInLoader } from '#agent/inject/choose-subvolume.ts';

describe('the root', () => {
  const system = (path: string, ...rootsByItsWords: string[]) => ({ path, rootsByItsWords });
  const choose = (byDefault: string | undefined, ...found: ReturnType<typeof system>[]) =>
    chooseSubvolume(found, byDefault, '/dev/vda2')?.path;

  test.each([
    ['none holds a system', undefined, [], undefined],
    ['only one does, whatever its name', undefined, [system('disk/os')], 'disk/os'],
    ['one names itself, its snapshot does not', undefined, [system('@', '@'), system('@snapshot', '@')], '@'],
    ['one names itself, another says nothing', undefined, [system('@old'), system('@new', '@new')], '@new'],
    ['nothing is said, and one has a well-known name', undefined, [system('@backup'), system('@rootfs')], '@rootfs'],
    ['the default says nothing', 'snapshots/1', [system('snapshots/1'), system('@', '@')], 'snapshots/1'],
    ['the default names itself', '@', [system('@', '@'), system('root', 'root')], '@'],
    ['the default is a snapshot of one that is there', 'old', [system('old', '@'), system('@', '@')], '@'],
    ['the default is a snapshot of one that is gone', 'old', [system('old', '@'), system('other')], 'old'],
    ['the top names itself by its number', '', [system('', ''), system('@')], ''],
  ] as const)('%s', (_what, byDefault, found, expected) => {
    expect(choose(byDefault, ...found)).toBe(expected);
  });

  test.each([
    ['two name themselves', [system('@a', '@a'), system('@b', '@b')], '@a (which calls @a its root), @b (which'],
    ['two say nothing', [system('@a'), system('@b')], '@a, @b hold'],
    ['two of well-known names say nothing', [system('@'), system('root'), system('c')], '@, root, c hold'],
    ['only a snapshot is there', [system('@snapshot', '@')], '@snapshot (which calls @ its root) hold'],
    ['one contradicts itself', [system('@', '@', 'root')], '@ (which calls @ and root its root) hold'],
    ['one is named by its number', [system('@', 'subvolid=256')], '@ (which calls subvolid=256 its root) hold'],
  ])('is not known where %s', (_what, found, words) => {
    expect(() => choose(undefined, ...found)).toThrow(words);
    expect(() => choose(undefined, ...found)).toThrow(/\/dev\/vda2 .* subvol=$/);
  });
});

test.each([
  ['UUID=1 / btrfs defaults,subvol=@rootfs 0 0\nUUID=1 /home btrfs subvol=@home 0 0', ['@rootfs']],
  ['# UUID=1 / btrfs subvol=@old 0 0\n  UUID=1\t/\tbtrfs\tsubvolid=256,subvol=/@ 0 0', ['@']],
  ['UUID=1 / btrfs subvol=/a/the\\040root/ 0 0', ['a/the root']],
  ['UUID=1 / btrfs subvolid=5', ['']],
  ['UUID=1 / btrfs subvolid=0,ro', ['']],
  ['UUID=1 / btrfs subvolid=256', ['subvolid=256']],
  ['UUID=1 / btrfs subvol=/ 0 0', ['']],
  ['UUID=1 / btrfs defaults 0 0', []],
  ['UUID=1 / ext4', []],
  ['a / btrfs subvol=@\nb / btrfs subvol=@', ['@']],
  ['a / btrfs subvol=@\nb / btrfs subvol=root', ['@', 'root']],
  ['', []],
])('fstab %j', (text, roots) => expect(rootsInFstab(text)).toEqual(roots));

test.each([
  ['linux /@/boot/vmlinuz root=UUID=1 ro rootflags=subvol=@ quiet\n linux /@/x rootflags=subvol=@', ['@']],
  ['GRUB_CMDLINE_LINUX="rootflags=subvol=root/a,compress=zstd"', ['root/a']],
  ['GRUB_CMDLINE_LINUX="rootflags=subvol=${rootsubvol} ${GRUB_CMDLINE_LINUX}"', []],
  ['options root=UUID=1 rootflags=compress=zstd', []],
  ['myrootflags=subvol=@', []],
])('loader %j', (text, roots) => expect(rootsInLoader(text)).toEqual(roots));
