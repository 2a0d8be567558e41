import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { inspectImage, requireKnownFormat } from '#agent/image/decode/image-format.ts';

const withText = (at: number, text: string): Buffer => {
  const head = Buffer.alloc(40_960);
  head.write(text, at, 'latin1');
  return head;
};
const qcow2 = withText(0, 'QFI\u00fb');
const raw = withText(510, 'U\u00aa');

test.each([
  [raw, undefined, 'raw'],
  [raw, null, 'raw'],
  [raw, 'raw', 'raw'],
  [raw, 'gpt', 'raw'],
  [gzipSync(raw), 'raw', 'raw'],
  [qcow2, 'qcow2', 'qcow2'],
  [qcow2, undefined, 'qcow2'],
])('what is written, case %#', (head, declared, format) => {
  expect(inspectImage(head, declared)).toMatchObject({ format });
});

test.each([
  [
    qcow2,
    'raw',
    /^instance_info.image_disk_format is "raw" \(the default\), but what arrived is a qcow2 image: raw images/,
  ],
  [raw, 'qcow2', /is "qcow2", but what arrived is a raw image/],
  [gzipSync(raw), 'qcow2', /is "qcow2", but what arrived is compressed with gzip/],
  [withText(0, 'KDMV'), 'raw', /a VMDK image/],
  [withText(0, '# Disk DescriptorFile'), undefined, /^no instance_info.image_disk_format is set, but .* a VMDK image/],
  [withText(0, 'conectix'), 'raw', /a VHD image/],
  [withText(0, 'vhdxfile'), 'raw', /a VHDX image/],
  [withText(64, '\u007f\u0010\u00da\u00be'), 'raw', /a VDI image/],
  [withText(32_769, 'CD001'), 'raw', /an ISO 9660 image/],
  [withText(0, 'BZh91AY'), 'raw', /compressed with bzip2/],
  [Buffer.from('<html>'), 'raw', /a web page/],
])('what is refused, case %#', (head, declared, text) => {
  expect(() => inspectImage(head, declared)).toThrow(text);
});

test('what is inside a compressed image is looked at too', () => {
  expect(() => requireKnownFormat(raw, 'raw')).not.toThrow();
  expect(() => requireKnownFormat(qcow2, 'raw')).toThrow(/is "raw" \(the default\), but what arrived is a qcow2 image/);
});
