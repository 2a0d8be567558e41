import { expect, test } from 'vitest';
import { type OutboundRules, parseOutboundAllowList } from '#conductor/kernel/outbound-url.ts';
import { checkImageUrls } from '#conductor/nodes/image-urls.ts';

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

test('what is no URL is somebody else’s business', () => {
  expect(() => checkImageUrls({ image_checksum: '0af3', configdrive: 'H4sI', kernel: {} }, rules)).not.toThrow();
});
