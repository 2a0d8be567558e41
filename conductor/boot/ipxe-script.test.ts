import { describe, expect, test } from 'vitest';
import {
  firstScript,
  instanceScript,
  joinKernelParams,
  localDiskScript,
  ramdiskScript,
  volumeScript,
} from '#conductor/boot/ipxe-script.ts';

const publicUrl = 'http://192.0.2.1:6385';
const mac = '52:54:00:12:34:56';
const ramdisk = (options: Partial<Parameters<typeof ramdiskScript>[0]> = {}): string =>
  ramdiskScript({ publicUrl, mac, defaultKernelParams: '', ...options });

test('a machine that is inspected is told where to report; operators have the last word', () => {
  const script = ramdisk({ inspects: true, defaultKernelParams: 'ipa-collect-lldp=0' });
  expect(script).toContain(
    'ipa-inspection-callback-url=http://192.0.2.1:6385/v1/continue_inspection ipa-collect-lldp=1 ',
  );
  expect(script.indexOf('ipa-collect-lldp=0')).toBeGreaterThan(script.indexOf('ipa-collect-lldp=1'));
  expect(ramdisk({ inspects: false })).not.toContain('inspection');
});

test('an agent may call another address than the one that files come from', () => {
  const api = { url: 'https://192.0.2.1:6385', isInsecure: true };
  const script = ramdisk({ publicUrl: 'http://192.0.2.1:8080', agentApi: api, inspects: true });
  expect(script).toContain(
    'kernel --name vmlinuz http://192.0.2.1:8080/boot/vmlinuz?mac=52-54-00-12-34-56 ipa-api-url=https://192.0.2.1:6385 ',
  );
  expect(script).toContain(' ipa-insecure=1 ');
  expect(script).toContain('ipa-inspection-callback-url=https://192.0.2.1:6385/v1/continue_inspection');
  expect(ramdisk({ agentApi: { ...api, isInsecure: false } })).not.toContain('ipa-insecure');
});

describe('firstScript', () => {
  test('asks with the address of the card that is booting, and again until it gives up', () => {
    const lines = firstScript(`${publicUrl}/`).split('\n');
    expect(lines[0]).toBe('#!ipxe');
    expect(lines).toContain(
      'chain --replace http://192.0.2.1:6385/boot/node.ipxe?mac=${netX/mac:hexhyp}&platform=${platform} || goto failed',
    );
    expect(lines).toContain('goto ask');
    expect(lines.slice(-3)).toEqual([expect.stringContaining('next boot device'), 'exit 1', '']);
  });

  test.each(['ftp://x', 'http://a b', 'http://x/?q=1', 'http://x/${y}', 'http://x/\nexit', '', 'http://x/#y'])(
    'refuses the public URL %j',
    (url) => {
      expect(() => firstScript(url)).toThrow('publicUrl must be an http(s) URL without query and blanks');
    },
  );
});

describe('ramdiskScript', () => {
  test('loads kernel and ramdisk with what the agent reads', () => {
    expect(ramdisk({ nodeName: 'rack 7 / n1', defaultKernelParams: 'nofb  vga=normal' })).toBe(
      [
        '#!ipxe',
        'echo Baton: booting the ramdisk for rack 7 / n1 (52:54:00:12:34:56)',
        'imgfree',
        'kernel --name vmlinuz http://192.0.2.1:6385/boot/vmlinuz?mac=52-54-00-12-34-56 ipa-api-url=http://192.0.2.1:6385 console=tty0 console=ttyS0,115200 BOOTIF=52:54:00:12:34:56 initrd=initrd.img nofb vga=normal || goto failed',
        'initrd --name initrd.img http://192.0.2.1:6385/boot/initrd.img?mac=52-54-00-12-34-56 || goto failed',
        'boot vmlinuz || goto failed',
        ':failed',
        'echo Baton: the ramdisk could not be booted, asking again in 5 s',
        'imgfree',
        'sleep 5',
        'chain --replace http://192.0.2.1:6385/boot/boot.ipxe || exit 1',
        '',
      ].join('\n'),
    );
  });

  test("loads the node's own files, and no token for what does not read it", () => {
    const own = { kernel: 'http://192.0.2.2/ipa.kernel', ramdisk: 'http://192.0.2.2/ipa.initramfs' };
    const lines = ramdisk({ own }).split('\n');
    expect(lines[3]).toMatch(
      /^kernel --name vmlinuz http:\/\/192\.0\.2\.2\/ipa\.kernel ipa-api-url=\S+ .*initrd=initrd\.img \|\|/,
    );
    expect(lines[4]).toBe('initrd --name initrd.img http://192.0.2.2/ipa.initramfs || goto failed');
    expect(() => ramdisk({ own: { ...own, kernel: 'http://192.0.2.2/a b' } })).toThrow('must be an http(s) URL');
  });

  test('lets no name act as a command', () => {
    const lines = ramdisk({ nodeName: 'x || poweroff\n${net0/mac}' }).split('\n');
    expect(lines[1]).toBe('echo Baton: booting the ramdisk for x ?? poweroff???net0/mac? (52:54:00:12:34:56)');
    expect(lines.filter((line) => line.includes('poweroff'))).toHaveLength(1);
  });

  test.each([
    ['a\nb', 'a line break'],
    ['a\rb', 'a line break'],
    ['a\tb', 'not printable ASCII'],
    ['ä', 'not printable ASCII'],
    ['x=${net0/mac}', '${, which iPXE would expand'],
    ['a || shell', 'the word ||'],
    ['a && shell', 'the word &&'],
    ['a #b', 'the word #b'],
  ])('refuses the kernel parameters %j', (kernelParams, says) => {
    expect(() => ramdisk({ kernelParams })).toThrow(`driver_info.kernel_append_params must be printable ASCII`);
    expect(() => ramdisk({ kernelParams })).toThrow(says);
    expect(() => ramdisk({ defaultKernelParams: kernelParams })).toThrow('BATON_KERNEL_PARAMS must be printable');
  });
});

describe('joinKernelParams', () => {
  test.each([
    ['a=1', undefined, 'a=1'],
    ['a=1', 'b=2', 'b=2'],
    ['a=1', '%default% b=2', 'a=1 b=2'],
    ['a=$& b', '%default% c', 'a=$& b c'],
    ['', '%default%', ''],
    ['a=1', '', ''],
    ['', undefined, ''],
  ])('%j and %j', (defaults, own, joined) => {
    expect(joinKernelParams(defaults, own)).toBe(joined);
  });
});

test.each(['||', '&&', '#rest'])(
  'a password of a volume that is %s would end the command, and is refused',
  (password) => {
    const volume = { sanUri: 'iscsi:192.0.2.1::::iqn', initiatorIqn: 'iqn', username: 'u', password };
    expect(() => volumeScript(volume, 'hi')).toThrow('password of the boot volume must not be a word');
    expect(volumeScript({ ...volume, password: 'a||b#' }, 'hi')).toContain('\nset password a||b#\n');
  },
);

describe('instanceScript', () => {
  const files = { kind: 'kernel', kernel: 'http://192.0.2.9/vmlinuz', ramdisk: 'http://192.0.2.9/initrd' } as const;

  test('boots a kernel with its ramdisk, and the parameters of the instance in place of the defaults', () => {
    const script = instanceScript({ ...files, kernelParams: '%default% quiet' }, 'n1 boots', 'console=ttyS1');
    expect(script).toContain('\nkernel --name kernel http://192.0.2.9/vmlinuz initrd=ramdisk console=ttyS1 quiet || ');
    expect(script).toContain('\ninitrd --name ramdisk http://192.0.2.9/initrd || ');
    expect(instanceScript({ ...files, kernelParams: 'a=1' }, 'n1', 'console=ttyS1')).not.toContain('ttyS1');
  });

  test('boots an ISO', () => {
    const script = instanceScript({ kind: 'iso', url: 'http://192.0.2.9/live.iso?a=b' }, 'n1', '');
    expect(script).toContain('\nsanboot --no-describe http://192.0.2.9/live.iso?a=b || ');
  });

  test('takes nothing that iPXE would act on', () => {
    const iso = (url: string) => () => instanceScript({ kind: 'iso', url }, 'n1', '');
    expect(iso('http://192.0.2.9/${net0/mac}')).toThrow('http(s) URL without blanks');
    expect(iso('http://192.0.2.9/a || shell')).toThrow('http(s) URL without blanks');
    expect(() => instanceScript({ ...files, kernelParams: 'a || shell' }, 'n1', '')).toThrow(
      'instance_info.kernel_append_params',
    );
  });
});

describe('localDiskScript', () => {
  const lines = (bootMode: 'uefi' | 'bios' | undefined) => localDiskScript({ bootMode, message: 'hi' }).split('\n');

  test('UEFI: leaves with a failure, so that the firmware tries its next boot option', () => {
    expect(lines('uefi')).toEqual(['#!ipxe', 'echo Baton: hi', 'exit 1', '']);
  });

  test('BIOS: starts the first disk', () => {
    expect(lines('bios')).toEqual(['#!ipxe', 'echo Baton: hi', 'sanboot --no-describe --drive 0x80 || exit 1', '']);
  });

  test('unknown: the machine decides', () => {
    expect(lines(undefined)[2]).toBe('iseq ${platform} pcbios || exit 1');
    expect(lines(undefined)[3]).toContain('sanboot');
  });
});
