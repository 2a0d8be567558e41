import type { AgentContext } from '#agent/context.ts';
import type { ExpectedChecksum } from '#agent/image/fetch/expected-checksum.ts';
import { authorizationHeaders } from '#agent/image/image-info.ts';
import type { WriteImageOptions } from '#agent/image/write-image.ts';
import type { ImageInfo } from '#shared/in-band/image-info.ts';

type Context = Pick<AgentContext, 'clock' | 'log' | 'signal' | 'reportProgress' | 'imagePolicy' | 'shareImage'>;

/** Where an image comes from and what it must be, as `image_info` says, for `writeImage`. */
export function transferOf(
  { clock, log, signal, reportProgress, imagePolicy, shareImage }: Context,
  info: ImageInfo,
  checksum: ExpectedChecksum,
): WriteImageOptions {
  return {
    urls: info.urls,
    headers: authorizationHeaders(info),
    declaredFormat: info.disk_format,
    checksum,
    rules: imagePolicy?.fetchFrom,
    share: shareImage,
    clock,
    log,
    signal,
    reportProgress,
  };
}
