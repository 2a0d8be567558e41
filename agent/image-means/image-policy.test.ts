import { expect, test } from 'vitest';
import { requiredFormat } from '#agent/image-means/image-policy.ts';

test('a conductor that says nothing permits all', () => {
  expect(requiredFormat('qcow2', {})).toBe('qcow2');
  expect(requiredFormat(null, {})).toBeUndefined();
});

test('what is declared must be permitted; raw and gpt are the same', () => {
  expect(requiredFormat('raw', { permittedFormats: ['gpt'] })).toBe('raw');
  expect(() => requiredFormat('qcow2', { permittedFormats: ['raw', 'gpt'] })).toThrow(
    'the image is qcow2, and the conductor permits raw, gpt (permitted_image_formats)',
  );
});

test('what is not declared must turn out to be permitted', () => {
  expect(requiredFormat(undefined, { permittedFormats: ['raw'] })).toBe('raw');
  expect(requiredFormat(undefined, { permittedFormats: ['iso', 'qcow2'] })).toBe('qcow2');
  expect(requiredFormat(undefined, { permittedFormats: ['raw', 'qcow2'] })).toBeUndefined();
  expect(() => requiredFormat(undefined, { permittedFormats: ['iso'] })).toThrow('the conductor permits iso');
});
