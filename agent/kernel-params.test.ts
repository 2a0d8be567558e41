import { describe, expect, test } from 'vitest';
import { parseBootif, parseKernelParams } from '#agent/kernel-params.ts';

describe('parseKernelParams', () => {
  test('sees key=value items only, and of equals the last', () => {
    const params = parseKernelParams('nofb vga=normal ipa-api-url=http://a:1\troot=UUID=1-2 ipa-debug=0 ipa-debug=1\n');
    expect(Object.fromEntries(params)).toEqual({
      vga: 'normal',
      'ipa-api-url': 'http://a:1',
      root: 'UUID=1-2',
      'ipa-debug': '1',
    });
  });
});

describe('parseBootif', () => {
  test.each([
    ['pxelinux', '01-AA-bb-cc-dd-ee-ff', 'aa:bb:cc:dd:ee:ff'],
    ['iPXE', 'aa:bb:cc:dd:ee:FF', 'aa:bb:cc:dd:ee:ff'],
    ['dashes without a hardware type', 'aa-bb-cc-dd-ee-ff', 'aa:bb:cc:dd:ee:ff'],
  ])('%s', (_form, text, mac) => expect(parseBootif(text)).toBe(mac));

  test.each(['', 'eth0', '01-aa-bb-cc-dd', '01:aa:bb:cc:dd:ee:ff'])('refuses %j', (text) =>
    expect(parseBootif(text)).toBeUndefined(),
  );
});
