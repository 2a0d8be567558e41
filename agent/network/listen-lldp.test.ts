import { expect, test } from 'vitest';
import { parseLldpFrame } from '#agent/network/listen-lldp.ts';

const header = '0180c200000e00112233445588cc';
const frame = (body: string, head = header) => Buffer.from(head + body, 'hex');

test('reads the TLVs up to the end of the frame, and no padding', () => {
  const long = `feff${'00'.repeat(255)}`;
  expect(parseLldpFrame(frame(`02070400112233445504050574617031060200780000${'00'.repeat(20)}`))).toEqual([
    [1, '04001122334455'],
    [2, '0574617031'],
    [3, '0078'],
  ]);
  expect(parseLldpFrame(frame(`${long}0000`))).toEqual([[127, '00'.repeat(255)]]);
});

test.each([
  ['another EtherType', frame('0000', '0180c200000e0011223344550800')],
  ['a frame cut off in a TLV', frame('020704001122')],
  ['a runt', Buffer.from(header, 'hex')],
  ['nothing', Buffer.alloc(0)],
])('%s is not LLDP', (_, bytes) => {
  expect(parseLldpFrame(bytes)).toBeUndefined();
});

test('a frame without an end is taken as it is', () => {
  expect(parseLldpFrame(frame('06020078'))).toEqual([[3, '0078']]);
});
