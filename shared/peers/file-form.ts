import { openAsBlob } from 'node:fs';
import { basename } from 'node:path';
import { FormData } from 'undici';

/** A multipart form with a JSON document and a file, which is read from the disk as the receiver takes it. */
export async function fileForm(
  document: { readonly name: string; readonly json: unknown },
  file: { readonly name: string; readonly path: string },
): Promise<FormData> {
  const form = new FormData();
  form.append(document.name, new Blob([JSON.stringify(document.json)], { type: 'application/json' }));
  const content = await openAsBlob(file.path, { type: 'application/octet-stream' });
  form.append(file.name, content, basename(file.path));
  return form;
}
