import { expect, test } from 'vitest';
import { checkImageUrls, checkStepUrls } from '#conductor/nodes/boot/image-info.ts';
import { type OutboundRules, parseOutboundAllowList } from '#shared/peers/outbound-url.ts';

const rules: OutboundRules = {
  setting: 'BATON_IMAGE_URL_ALLOW',
  allow: parseOutboundAllowList('images.example'),
  allowLoopback: false,
  connectsHere: false,
};

test.each(['image_source', 'image_checksum', 'image_os_hash_value', 'kernel', 'ramdisk', 'configdrive'])(
  'instance_info.%s is fetched from where it may be',
  (field) => {
    expect(() => checkImageUrls({ [field]: 'https://images.example/a' }, rules)).not.toThrow();
    expect(() => checkImageUrls({ [field]: 'https://elsewhere.example/a' }, rules)).toThrow(
      `instance_info.${field}: BATON_IMAGE_URL_ALLOW does not allow elsewhere.example`,
    );
    expect(() => checkImageUrls({ [field]: 'HTTP://169.254.169.254/' }, { ...rules, allow: undefined })).toThrow(field);
  },
);

test('what is not a URL is somebody else’s business', () => {
  expect(() => checkImageUrls({ image_checksum: '0af3', configdrive: 'H4sI', kernel: {} }, rules)).not.toThrow();
});

test('files that a step injects are fetched from where it may be', () => {
  const inject = (content: unknown) => () =>
    checkStepUrls(
      [{ step: 'inject_files', args: { files: [{ path: '/etc/a', content: 'Zm9v' }, { content }] } }],
      rules,
    );
  expect(inject('https://images.example/a')).not.toThrow();
  expect(inject('http://169.254.169.254/latest')).toThrow('inject_files: files[1].content: loopback, link-local');
  expect(inject('https://elsewhere.example/')).toThrow('files[1].content: BATON_IMAGE_URL_ALLOW does not allow');
  expect(inject('http://{node[extra][host]}/')).not.toThrow();
  expect(() => checkStepUrls([{ step: 'other', args: { files: [{ content: 'http://x/' }] } }], rules)).not.toThrow();
});
