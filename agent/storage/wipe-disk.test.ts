import { expect, test } from 'vitest';
import { readSignatures } from '#agent/storage/wipe-disk.ts';
import type { Run } from '#shared/process/run.ts';

const answer =
  (stdout: string): Run =>
  async () => ({ stdout, stderr: '', exitCode: 0, durationMs: 1 });

test('each signature once, none, and what is not JSON', async () => {
  // wipefs 2.38 of a GPT
  const gpt = `{"signatures": [
    {"device": "f", "offset": "0x200", "type": "gpt", "uuid": null, "label": null},
    {"device": "f", "offset": "0x3fffe00", "type": "gpt", "uuid": null, "label": null},
    {"device": "f", "offset": "0x1fe", "type": "PMBR", "uuid": null, "label": null}]}`;
  expect(await readSignatures(answer(gpt), '/dev/vda')).toEqual(['gpt', 'PMBR']);
  expect(await readSignatures(answer('{"signatures": [\n\n]}'), '/dev/vda')).toEqual([]);
  expect(await readSignatures(answer(''), '/dev/vda')).toEqual([]);
  await expect(readSignatures(answer('DEVICE OFFSET'), '/dev/vda')).rejects.toThrow(
    'parse what wipefs reports for /dev/vda',
  );
});
