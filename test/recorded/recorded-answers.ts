/** Answers over HTTP as they were recorded, for simulators that begin with them. */

export interface RecordedAnswer {
  readonly status: number;
  /** Given where the recording has them; then the time of now is not among them. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Stands in place of an answer that nobody has recorded. */
export const notRecorded: RecordedAnswer = { status: 501, headers: {}, body: '' };

/**
 * Reads recorded answers: by `GET /path`, or by `GET /path?name=value` for requests with these parameters among theirs. An
 * answer is as `curl -i` prints it, or JSON alone, which is a 200.
 * @returns finds the answer to a request; `undefined` = not recorded
 */
export function readAnswers(
  outputs: Readonly<Record<string, string>>,
): (method: string, asked: URL) => RecordedAnswer | undefined {
  const answers = Object.entries(outputs).map(([line, text]) => {
    const [method = '', target = ''] = line.split(' ');
    return { method, url: new URL(target, 'http://recorded'), answer: readAnswer(text) };
  });
  return (method, asked) => {
    const fitting = answers
      .filter((each) => each.method === method && each.url.pathname === asked.pathname)
      .filter(({ url }) => [...url.searchParams].every(([name, value]) => asked.searchParams.get(name) === value))
      .toSorted((a, b) => b.url.searchParams.size - a.url.searchParams.size);
    return fitting[0]?.answer;
  };
}

function readAnswer(text: string): RecordedAnswer {
  if (!text.startsWith('HTTP/')) return { status: 200, body: text };
  const [head = '', ...body] = text.split('\n\n');
  const [first = '', ...lines] = head.trimEnd().split('\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status: Number(first.split(' ')[1]), headers: Object.fromEntries(headers), body: body.join('\n\n') };
}
