/** An HTTP answer as a recording has it: `HTTP/1.1 404 NOT FOUND`, headers, an empty line, the body. */
export interface RecordedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** @throws Error for a text that does not begin as an answer does */
export function readRecordedAnswer(text: string): RecordedAnswer {
  const [head = '', ...rest] = text.split('\n\n');
  const [first = '', ...lines] = head.split('\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
  if (!Number.isInteger(status)) throw new Error(`${JSON.stringify(first)} does not begin an HTTP answer`);
  const headers = Object.fromEntries(lines.map((line) => line.split(': ', 2) as [string, string]));
  return { status, headers, body: rest.join('\n\n') };
}
