import { expect, test } from 'vitest';
import { hideTokenParameter, maskSecrets } from '#agent/commands/mask-secrets.ts';

test('secrets are masked at every depth, and nothing else', () => {
  const args = {
    configdrive: 'c2VjcmV0',
    image_info: {
      id: 'i',
      urls: ['http://x/a'],
      configdrive: { user_data: 'secret' },
      image_server_user: 'me',
      image_server_password: 'hunter2',
      image_request_authorization: 'Bearer x',
      image_request_authorization_secret: null,
    },
    list: [{ admin_password: 'x', size: 3 }, null, true],
  };
  expect(maskSecrets(args)).toEqual({
    configdrive: '******',
    image_info: {
      id: 'i',
      urls: ['http://x/a'],
      configdrive: '******',
      image_server_user: 'me',
      image_server_password: '******',
      image_request_authorization: '******',
      image_request_authorization_secret: null,
    },
    list: [{ admin_password: '******', size: 3 }, null, true],
  });
});

test('so is what files and settings hold, and not how they are called', () => {
  const step = {
    step: 'inject_files',
    args: {
      files: [
        { path: '/etc/key', content: 'c2VjcmV0', mode: 384 },
        { path: '/old', deleted: true, content: null },
      ],
      settings: [{ name: 'AdminPassword', value: 'hunter2' }],
    },
    node: { properties: { inject_files: [{ path: '/a', content: 'http://h/?key=1' }] } },
    content: 'stays',
    limits: [{ value: 3 }],
  };
  expect(maskSecrets(step)).toEqual({
    step: 'inject_files',
    args: {
      files: [
        { path: '/etc/key', content: '******', mode: 384 },
        { path: '/old', deleted: true, content: null },
      ],
      settings: [{ name: 'AdminPassword', value: '******' }],
    },
    node: { properties: { inject_files: [{ path: '/a', content: '******' }] } },
    content: 'stays',
    limits: [{ value: 3 }],
  });
});

test('the token disappears from a command line, wherever it is repeated', () => {
  const text = '[0.0] Command line: ipa-agent-token=abc ipa-debug=1\n{"cmdline":"x ipa-agent-token=a\\nb"}\n';
  expect(hideTokenParameter(text)).toBe(
    '[0.0] Command line: ipa-agent-token=****** ipa-debug=1\n{"cmdline":"x ipa-agent-token=******\\nb"}\n',
  );
});
