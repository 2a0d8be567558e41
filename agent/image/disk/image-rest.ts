/** More of an image than its beginning, before its first byte is written. */
export interface ImageRest {
  /** Bytes of the image, unpacked; `undefined` where only its end will show it. */
  readonly imageBytes: number | undefined;
  /** Reads bytes behind the beginning, fewer at the image's end; `undefined` where they can't be had yet. */
  readonly look: (offset: number, bytes: number) => Promise<Buffer | undefined>;
}
