import type { BuildContext } from '#image-build/build-context.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Makes the demo OS image. */
export function buildOsImage(_context: BuildContext): Promise<void> {
  return Promise.reject(new AppError('not_supported', 'build the OS image: being written'));
}
