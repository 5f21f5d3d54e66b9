import { useEffect, useRef, useState } from "preact/hooks";

const BARS = 160;
const HEIGHT = 64;
/** Fine enough to see where it is loud; the player has the true rate. */
const SAMPLE_RATE_HZ = 8_000;

export interface SoundProps {
  readonly url: string;
  /** The sound, where it is not on the front. */
  readonly blob: Blob | undefined;
}

/** A player, and above it how loud the sound is from its start to its end. */
export function Sound({ url, blob }: SoundProps) {
  const player = useRef<HTMLAudioElement>(null);
  const [played, setPlayed] = useState(0);
  const peaks = usePeaks(url, blob);
  const follow = ({
    currentTarget: { currentTime, duration },
  }: {
    currentTarget: HTMLAudioElement;
  }) => setPlayed(duration > 0 ? currentTime / duration : 0);
  const seek = (event: MouseEvent) => {
    const audio = player.current;
    if (audio === null || !(event.currentTarget instanceof Element)) return;
    const { left, width } = event.currentTarget.getBoundingClientRect();
    audio.currentTime = ((event.clientX - left) / width) * audio.duration;
  };
  return (
    <>
      {peaks.length > 0 && (
        // The keyboard has the player's own bar.
        // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions
        <svg
          class="waveform"
          viewBox={`0 0 ${BARS} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label="Loudness from start to end"
          onClick={seek}
        >
          {peaks.map((peak, at) => {
            const height = Math.max(1, peak * HEIGHT);
            return (
              <rect
                // oxlint-disable-next-line react/no-array-index-key -- a bar is its place
                key={at}
                class={at / BARS < played ? "played" : undefined}
                x={at + 0.15}
                y={(HEIGHT - height) / 2}
                width={0.7}
                height={height}
              />
            );
          })}
        </svg>
      )}
      <audio ref={player} src={url} controls onTimeUpdate={follow} onSeeked={follow} />
    </>
  );
}

/** The loudest sample of each bar, of the loudest of all; none where the browser cannot read the sound. */
function usePeaks(url: string, blob: Blob | undefined): readonly number[] {
  const [peaks, setPeaks] = useState<readonly number[]>([]);
  useEffect(() => {
    let isCurrent = true;
    const show = (next: readonly number[]) => isCurrent && setPeaks(next);
    setPeaks([]);
    readPeaks(url, blob).then(show, () => show([]));
    return () => void (isCurrent = false);
  }, [url, blob]);
  return peaks;
}

async function readPeaks(url: string, blob: Blob | undefined): Promise<number[]> {
  const bytes = await (blob ?? (await fetch(url))).arrayBuffer();
  const sound = await new OfflineAudioContext(1, 1, SAMPLE_RATE_HZ).decodeAudioData(bytes);
  const samples = sound.getChannelData(0);
  const peaks = Array.from({ length: BARS }, (_, bar) => {
    const from = Math.floor((bar * samples.length) / BARS);
    const to = Math.floor(((bar + 1) * samples.length) / BARS);
    return samples.subarray(from, to).reduce((most, one) => Math.max(most, Math.abs(one)), 0);
  });
  const most = Math.max(...peaks, 1e-6);
  return peaks.map((peak) => peak / most);
}
