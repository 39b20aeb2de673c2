#!/usr/bin/env bash
# Renders the images of the gallery: runs shipped scenes at their default size, and renders one
# frame of each. Existing runs are resumed. Needs Chromium.
# Usage: bash docs/gallery/make.sh [SCENE...]     all scenes take about 40 minutes on two cores
set -euo pipefail
cd "$(dirname "$0")/../.."

# Scene and frame.
images="reefknot:50 flag:57 drape:60 drag:80 box-and-cone:60 pinch:80 grip:105 cards:100 stack:100
pile:38 bunnies:25 belt:36 hairy-ball:27 hair-band:37 sticky-patch:32 furry-bunny:12 gallery:48"

cargo build --release --locked
for image in $images; do
    scene=${image%:*} frame=${image#*:}
    if [ $# -gt 0 ] && [[ " $* " != *" $scene "* ]]; then continue; fi
    target/release/reefknot run "$scene" --out "runs/$scene" --resume --quiet
    target/release/reefknot render "runs/$scene" --frames "$frame" --size 720x450 --png runs/images
    mv "runs/images/$(printf %05d "$frame").png" "docs/gallery/$scene.png"
done
